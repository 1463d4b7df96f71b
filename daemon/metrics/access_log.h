// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/access_log.h: which calls of a worker's clients the access log has (the key
// `access_log` of hatrpcd.yaml), and the queue of their records.
//
// Cost     A call that is not logged costs a decrement and three comparisons. A call that is logged
//          is copied into a queue without a lock; its record waits there for the thread that writes
//          the file. If the queue is full, the record is dropped and counted.
// Memory   About 600 KiB for each worker, once the node has an access log.
// Thread   As the functions say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "base/counter.h"
#include "base/handoff_queue.h"
#include "base/reactor.h"
#include "config/node.h"
#include "daemon/metrics/call_record.h"
#include "daemon/metrics/rate_limit.h"

namespace hat {

// Why a call is logged. A call for which several reasons hold has the first of them, so the calls
// with kSampled are a fair sample of all calls.
enum class Logged : uint8_t { kSampled, kSlow, kFailed };
inline constexpr std::array<const char*, 3> kLoggedNames = {"sampled", "slow", "failed"};

struct LoggedCall {
  CallRecord call;
  Logged why{};
};

// The numbers of lines of the access log, and of records that did not become lines.
struct AccessLogCounts {
  uint64_t written = 0;    // lines in the file
  uint64_t dropped = 0;    // records for which a worker's queue had no space
  uint64_t over_rate = 0;  // records beyond AccessLog::kLinesPerSecond
  uint64_t lost = 0;       // lines that could not be written to the file
};

// Takes one of a number of calls, at random: a call that ends at regular intervals must not be
// taken always, or never.
class CallSampler {
 public:
  explicit CallSampler(uint32_t seed) : random_(seed) {}

  // Takes one of `calls` calls from now on; 0: none.
  void take_one_of(uint32_t calls) {
    calls_ = calls;
    left_ = calls == 0 ? kNever : next();
  }
  // Returns true if the next call is taken.
  bool take() {
    if (--left_ != 0) return false;
    left_ = calls_ == 0 ? kNever : next();
    return true;
  }

 private:
  static constexpr uint64_t kNever = UINT64_MAX;

  // Returns the number of calls up to the next one that is taken; on average calls_.
  uint64_t next() {
    return std::uniform_int_distribution<uint64_t>(1, uint64_t{calls_} * 2 - 1)(random_);
  }

  uint32_t calls_ = 0;
  uint64_t left_ = kNever;
  std::mt19937 random_;
};

class AccessLog {
 public:
  static constexpr size_t kQueueMax = 4096;
  // The lines of slow calls, and the lines of failed calls, that a worker can have in a second: a
  // client that provokes errors must not fill the disk, nor displace the lines of slow calls. So a
  // failed call counts as one of the failed calls, also if it is logged because it was slow.
  static constexpr uint32_t kLinesPerSecond = 100;

  // Logs no call before set(). `seed` decides which calls are sampled.
  explicit AccessLog(uint32_t seed) : sampler_(seed) {}

  // Makes the queue, unless there is one. Call it before set() gets a file.
  void open() {
    if (!queue_) queue_ = std::make_unique<HandoffQueue<LoggedCall>>(kQueueMax);
  }

  // --- Only for the worker ---
  // Sets which calls are logged from now on.
  void set(const AccessLogConfig& config) {
    const bool is_on = !config.path.empty();
    if (const uint32_t calls = is_on ? config.sample_one_in : 0; calls != calls_per_sample_) {
      sampler_.take_one_of(calls_per_sample_ = calls);
    }
    slower_than_ = is_on && config.slower_than ? *config.slower_than : Duration::max();
    logs_failed_ = is_on && config.failed;
  }
  // Returns why a call that has just ended is logged; nullopt if it is not. Call it once for each
  // call. `is_failed`: hatrpcd itself has ended the call.
  std::optional<Logged> wants(Duration took, bool is_failed) {
    const bool is_sampled = sampler_.take();
    if (is_sampled) return Logged::kSampled;
    if (took > slower_than_) return Logged::kSlow;
    if (is_failed && logs_failed_) return Logged::kFailed;
    return std::nullopt;
  }
  // Puts the record of a call that has just ended into the queue, unless there are too many.
  // Requires that open() was called.
  void add(CallRecord call, Logged why) {
    RateLimit& limit = call.failure ? failed_ : slow_;
    if (why != Logged::kSampled && !limit.permits(call.began + call.took)) {
      over_rate_.add();
    } else if (!queue_->push({std::move(call), why})) {
      dropped_.add();
    }
  }

  // --- Only for the thread that writes the file ---
  std::optional<LoggedCall> pop() { return queue_->pop(); }

  // --- For any thread ---
  uint64_t dropped() const { return dropped_.value(); }
  uint64_t over_rate() const { return over_rate_.value(); }

 private:
  CallSampler sampler_;
  uint32_t calls_per_sample_ = 0;
  Duration slower_than_ = Duration::max();
  bool logs_failed_ = false;
  RateLimit slow_{kLinesPerSecond};
  RateLimit failed_{kLinesPerSecond};
  Counter dropped_;
  Counter over_rate_;
  std::unique_ptr<HandoffQueue<LoggedCall>> queue_;  // null until open()
};

}  // namespace hat
