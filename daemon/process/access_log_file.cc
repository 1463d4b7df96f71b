// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/access_log_file.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/admin/call_json.h"
#include "daemon/process/unix_time.h"

namespace hat {
namespace {

using std::chrono::system_clock;

// The records of all workers.
class Records final : public LineSource {
 public:
  explicit Records(const std::vector<std::unique_ptr<AccessLog>>& logs) : logs_(logs) {}

  void take_lines(std::string& text, size_t enough) override {
    const Duration to_system_time = unix_minus_steady();
    for (size_t i = 0; i < logs_.size(); ++i) {
      const size_t worker = (first_ + i) % logs_.size();
      while (text.size() < enough) {
        const auto logged = logs_[worker]->pop();
        if (!logged) break;
        text += access_line(*logged, worker, to_system_time);
      }
    }
    first_ = (first_ + 1) % logs_.size();
  }

 private:
  const std::vector<std::unique_ptr<AccessLog>>& logs_;
  size_t first_ = 0;  // the worker with which the next text begins, so that each gets its turn
};

}  // namespace

std::string access_line(const LoggedCall& logged, size_t worker, Duration to_system_time) {
  const auto began = logged.call.began.time_since_epoch() + to_system_time;
  nlohmann::ordered_json line;
  line["time"] = rfc3339_text(system_clock::time_point(began));
  line["logged"] = kLoggedNames[static_cast<size_t>(logged.why)];
  add_call(line, logged.call, worker);
  // Replaces bytes that are not UTF-8.
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

AccessLogFile::AccessLogFile(size_t workers, uint32_t seed) {
  for (size_t i = 0; i < workers; ++i) {
    logs_.push_back(std::make_unique<AccessLog>(seed + static_cast<uint32_t>(i)));
  }
}

void AccessLogFile::set(const AccessLogConfig& config) {
  if (config.path == path_) return;
  const bool was_off = path_.empty();
  path_ = config.path;
  // The thread of the file before may hang in a write. So each path has a thread of its own; it
  // gets the records that wait.
  close(path_.empty());
  if (path_.empty()) return lose_waiting();
  for (auto& log : logs_) log->open();
  // A worker that has not applied its configuration at once has added records after the end of the
  // log. They are old, and no part of the log that begins now.
  if (was_off) lose_waiting();
  file_ = std::make_unique<LineFile>("access_log", std::make_unique<Records>(logs_));
  file_->set_path(path_);
}

void AccessLogFile::lose_waiting() {
  for (auto& log : logs_) {
    while (log->pop()) ++earlier_.lost;
  }
}

void AccessLogFile::close(bool writes_waiting) {
  if (!file_) return;
  if (writes_waiting) {
    file_->stop();
  } else {
    file_->stop_without_waiting_lines();
  }
  const LineFile::Counts counts = file_->counts();
  earlier_.written += counts.written;
  earlier_.lost += counts.taken - counts.written;
  file_.reset();
}

AccessLogCounts AccessLogFile::counts() const {
  const LineFile::Counts file = file_ ? file_->counts() : LineFile::Counts{};
  AccessLogCounts all{.written = earlier_.written + file.written,
                      .lost = earlier_.lost + file.lost};
  for (const auto& log : logs_) {
    all.dropped += log->dropped();
    all.over_rate += log->over_rate();
  }
  return all;
}

}  // namespace hat
