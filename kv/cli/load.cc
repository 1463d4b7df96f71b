// SPDX-License-Identifier: Apache-2.0
// kv/cli/load.cc: the command `hatkv load`: stores many records, generated or from a file, with
// several clients.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "base/quantities.h"
#include "kv/cli/client.h"
#include "kv/cli/commands.h"
#include "kv/cli/text.h"
#include "kv/limits.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using LoadClock = std::chrono::steady_clock;

// A source of records. Any thread may call next().
class Records {
 public:
  virtual ~Records() = default;
  // Returns the next records, at most --batch of them; returns an empty vector after the last one.
  virtual Result<std::vector<hatkv::Pair>> next() = 0;
};

// Generated records. A key is the prefix and a number, from 0 on. Values are printable random bytes
// that depend only on the seed.
class MadeUpRecords : public Records {
 public:
  explicit MadeUpRecords(const CommandOptions& options) : options_(options) {}

  Result<std::vector<hatkv::Pair>> next() override {
    const uint64_t begin = next_.fetch_add(options_.batch);
    std::vector<hatkv::Pair> pairs;
    for (uint64_t i = begin; i < std::min(begin + options_.batch, options_.records); ++i) {
      hatkv::Pair& pair = pairs.emplace_back();
      HAT_TRY(pair.key, key(i));
      pair.value = value(i);
    }
    return pairs;
  }

 private:
  Result<std::string> key(uint64_t number) const {
    const std::string digits = std::to_string(number);
    if (options_.prefix.size() + digits.size() > options_.key_bytes) {
      return fail(ErrorCode::kInvalid, "--key-bytes " + std::to_string(options_.key_bytes) +
                                           " is too short for record " + digits);
    }
    std::string key = options_.prefix;
    key.append(options_.key_bytes - key.size() - digits.size(), '0');
    return key + digits;
  }

  std::string value(uint64_t number) const {
    std::minstd_rand random(static_cast<uint32_t>(options_.seed * 2654435761u + number));
    std::string value(options_.value_bytes, ' ');
    for (char& letter : value) letter = static_cast<char>('a' + random() % 26);
    return value;
  }

  const CommandOptions& options_;
  std::atomic<uint64_t> next_{0};
};

// Records from a file with lines of KEY<tab>VALUE, as `hatkv scan` writes them.
class RecordsOfFile : public Records {
 public:
  explicit RecordsOfFile(const CommandOptions& options) : options_(options) {
    if (options.file != "-") file_.open(options.file, std::ios::binary);
  }
  bool is_open() const { return options_.file == "-" || file_.is_open(); }

  Result<std::vector<hatkv::Pair>> next() override {
    const std::scoped_lock lock(mutex_);
    std::istream& lines = options_.file == "-" ? std::cin : file_;
    std::vector<hatkv::Pair> pairs;
    size_t bytes = 0;
    std::string line;
    while (pairs.size() < options_.batch && bytes < kBatchBytesMax / 4 &&
           std::getline(lines, line)) {
      ++line_number_;
      auto parsed = parse_pair(line);
      if (!parsed) {
        return std::unexpected(
            in(options_.file + ":" + std::to_string(line_number_), std::move(parsed.error())));
      }
      hatkv::Pair& pair = pairs.emplace_back();
      pair.key = std::move(parsed->first);
      pair.value = std::move(parsed->second);
      bytes += pair.key.size() + pair.value.size();
    }
    return pairs;
  }

 private:
  const CommandOptions& options_;
  std::mutex mutex_;
  std::ifstream file_;
  uint64_t line_number_ = 0;
};

struct Progress {
  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable changed;
  unsigned running = 0;
  struct Failure {
    std::string message;
    int exit_status;
  };
  std::optional<Failure> failure;  // the first failure of any client

  void failed(const std::string& what, int exit_status) {
    const std::scoped_lock lock(mutex);
    stop = true;
    if (!failure) failure = {what, exit_status};
  }
};

void put_all(const CommandOptions& options, Records& records, Progress& progress) {
  const auto client = connect_to_kv(options);
  if (!client) return progress.failed(client.error().message, kExitUnreachable);
  while (!progress.stop) {
    const auto pairs = records.next();
    if (!pairs) return progress.failed(pairs.error().message, kExitRefused);
    if (pairs->empty()) return;
    uint64_t bytes = 0;
    for (const hatkv::Pair& pair : *pairs) bytes += pair.key.size() + pair.value.size();
    try {
      (*client)->multiput(*pairs);
    } catch (const hatkv::Refused& refused) {
      return progress.failed("refused: " + refused.reason, kExitRefused);
    } catch (const std::exception& error) {
      return progress.failed("no reply from " + to_string(options.connect) + ": " + error.what(),
                             kExitUnreachable);
    }
    progress.records += pairs->size();
    progress.bytes += bytes;
  }
}

void report(const char* what, const Progress& progress, LoadClock::time_point begun,
            std::FILE* to) {
  const double seconds = std::chrono::duration<double>(LoadClock::now() - begun).count();
  const uint64_t records = progress.records;
  std::fprintf(to, "%s %llu records, %s in %.1f s: %.0f records/s\n", what,
               static_cast<unsigned long long>(records), size_text(progress.bytes).c_str(), seconds,
               static_cast<double>(records) / seconds);
}

}  // namespace

int run_load(const CommandOptions& options) {
  std::unique_ptr<Records> records;
  if (options.records != 0) {
    records = std::make_unique<MadeUpRecords>(options);
  } else {
    auto file = std::make_unique<RecordsOfFile>(options);
    if (!file->is_open()) return complain(options.file + ": cannot open this file", kExitRefused);
    records = std::move(file);
  }
  Progress progress;
  progress.running = options.clients;
  const auto begun = LoadClock::now();
  std::vector<std::jthread> clients;
  for (uint32_t i = 0; i < options.clients; ++i) {
    clients.emplace_back([&] {
      put_all(options, *records, progress);
      const std::scoped_lock lock(progress.mutex);
      --progress.running;
      progress.changed.notify_one();
    });
  }
  {
    std::unique_lock lock(progress.mutex);
    while (!progress.changed.wait_for(lock, 1s, [&] { return progress.running == 0; })) {
      if (!options.quiet) report("loading:", progress, begun, stderr);
    }
  }
  clients.clear();
  report("loaded", progress, begun, stdout);
  if (!progress.failure) return EXIT_SUCCESS;
  return complain(progress.failure->message, progress.failure->exit_status);
}

}  // namespace hat
