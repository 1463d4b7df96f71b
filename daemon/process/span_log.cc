// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/span_log.h"

#include <random>
#include <string>
#include <utility>

#include "daemon/process/span_json.h"
#include "daemon/process/unix_time.h"

namespace hat {
namespace {

class SpanSource final : public LineSource {
 public:
  SpanSource(std::string node, std::vector<Spans*> spans)
      : json_(std::move(node)), spans_(std::move(spans)) {}

  void take_lines(std::string& text, size_t enough) override {
    const TimePoint epoch(-unix_minus_steady());
    for (size_t i = 0; i < spans_.size(); ++i) {
      Spans& spans = *spans_[(first_ + i) % spans_.size()];
      while (text.size() < enough) {
        const auto span = spans.pop();
        if (!span) break;
        json_.append(text, *span, epoch);
      }
    }
    first_ = (first_ + 1) % spans_.size();
  }

 private:
  const SpanJson json_;
  const std::vector<Spans*> spans_;  // by worker
  size_t first_ = 0;  // the worker with which the next text begins, so that each gets its turn
};

}  // namespace

SpanLog::SpanLog(const NodeConfig& node, size_t workers, uint64_t seed) {
  std::mt19937_64 seeds(seed);
  std::vector<Spans*> all;
  for (size_t i = 0; i < workers; ++i) {
    spans_.push_back(std::make_unique<Spans>(seeds()));
    all.push_back(spans_.back().get());
  }
  file_ =
      std::make_unique<LineFile>("spans", std::make_unique<SpanSource>(node.node, std::move(all)));
  file_->set_path(node.tracing.path);
}

uint64_t SpanLog::lost() const {
  uint64_t lost = file_->counts().lost;
  for (const auto& spans : spans_) lost += spans->dropped();
  return lost;
}

std::unique_ptr<SpanLog> make_span_log(const NodeConfig& node, size_t workers) {
  if (node.tracing.path.empty()) return nullptr;
  std::random_device random;
  return std::make_unique<SpanLog>(node, workers, (uint64_t{random()} << 32) | random());
}

}  // namespace hat
