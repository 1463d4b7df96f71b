// SPDX-License-Identifier: Apache-2.0
#include "kv/ycsb/driver.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "kv/ycsb/client.h"
#include "kv/ycsb/generators.h"

namespace hat::ycsb {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr auto kNoEnd = std::numeric_limits<uint64_t>::max();
constexpr unsigned kFailuresInARowMax = 20;  // after this number of failures, a thread gives up

// The part of the work that one thread does, and the thread's results.
struct Share {
  uint64_t first = 0;       // the record of the thread's first insert
  uint64_t operations = 0;  // number of operations; kNoEnd: until the run's time is over
  bench::Window window;
  std::unique_ptr<Client> client;
  Results results;
};

Clock::duration ticks(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

// Makes one operation, and measures the time from its first call to its last answer. `before` is
// the time at which the thread's previous operation ended, for the think time between the two, and
// is set to the end of this operation.
void make_one(Share& share, Operation operation, int64_t record, Clock::time_point& before,
              unsigned& failures_in_a_row) {
  share.client->prepare(operation, record);
  const auto begun = Clock::now();
  auto made = share.client->call();
  const auto ended = Clock::now();
  if (made) made = share.client->check();
  failures_in_a_row = made ? 0 : failures_in_a_row + 1;
  if (!made && !share.results.first_failure) {
    share.results.first_failure = std::move(made.error());
  }
  Measured& measured = share.results.operations[static_cast<size_t>(operation)];
  if (!made) {
    if (begun >= share.window.begin) ++measured.failed;
  } else if (const auto time = share.results.account.add_call(share.window, before, begun, ended)) {
    measured.latencies.record(static_cast<uint64_t>(std::chrono::nanoseconds(*time).count()));
  }
  before = ended;
}

using Next = std::function<Operation(Random&)>;

void work(Share& share, const Next& next) {
  unsigned failures_in_a_row = 0;
  auto before = Clock::now();
  for (uint64_t i = 0; i < share.operations && failures_in_a_row < kFailuresInARowMax; ++i) {
    if (Clock::now() >= share.window.end) break;
    const Operation operation = next(share.client->random());
    make_one(share, operation, static_cast<int64_t>(share.first + i), before, failures_in_a_row);
  }
  share.results.account.close();
}

Result<std::vector<Share>> make_shares(const Workload& workload, const KeyChooser& keys,
                                       const Address& address, uint64_t seed, uint64_t operations) {
  std::vector<Share> shares(workload.threads);
  const uint64_t each = operations / workload.threads, more = operations % workload.threads;
  uint64_t first = workload.insert_start;
  for (size_t i = 0; i < shares.size(); ++i) {
    shares[i].first = first;
    shares[i].operations = operations == kNoEnd ? kNoEnd : each + (i < more ? 1 : 0);
    first += shares[i].operations;
    shares[i].client = std::make_unique<Client>(workload, keys, address, seed + i);
    HAT_TRY_VOID(shares[i].client->open());
  }
  return shares;
}

Results run_all(std::vector<Share>& shares, const Next& next, double warm_up_seconds,
                double seconds) {
  const auto begin = Clock::now() + ticks(warm_up_seconds);
  const auto end = seconds > 0 ? begin + ticks(seconds) : Clock::time_point::max();
  {
    std::vector<std::jthread> threads;
    for (Share& share : shares) {
      share.window = {.begin = begin, .end = end, .by_count = share.operations != kNoEnd};
      threads.emplace_back([&share, &next] { work(share, next); });
    }
  }
  Results all;
  all.seconds = std::max(0.0, Seconds(std::min(Clock::now(), end) - begin).count());
  for (const Share& share : shares) {
    all.account.add(share.results.account);
    for (size_t i = 0; i < kOperations; ++i) {
      all.operations[i].latencies.add(share.results.operations[i].latencies);
      all.operations[i].failed += share.results.operations[i].failed;
    }
    if (!all.first_failure) all.first_failure = share.results.first_failure;
  }
  return all;
}

}  // namespace

uint64_t Results::done() const {
  uint64_t sum = 0;
  for (const Measured& measured : operations) sum += measured.latencies.count();
  return sum;
}

uint64_t Results::failed() const {
  uint64_t sum = 0;
  for (const Measured& measured : operations) sum += measured.failed;
  return sum;
}

Result<Results> load(const Workload& workload, const Address& address, uint64_t seed) {
  const KeyChooser unused(workload);
  HAT_TRY(auto shares, make_shares(workload, unused, address, seed, workload.insert_count));
  return run_all(
      shares, [](Random&) { return Operation::kInsert; }, 0, 0);
}

Result<Results> run(const Workload& workload, const Address& address, uint64_t seed,
                    double warm_up_seconds) {
  if (workload.operations == 0 && workload.seconds == 0) {
    return fail(ErrorCode::kInvalid, "the run has no end: set operationcount or maxexecutiontime");
  }
  const KeyChooser keys(workload);
  const OperationChooser operations(workload);
  const uint64_t count = workload.operations == 0 ? kNoEnd : workload.operations;
  HAT_TRY(auto shares, make_shares(workload, keys, address, seed, count));
  return run_all(
      shares, [&](Random& random) { return operations.next(random); }, warm_up_seconds,
      workload.seconds);
}

}  // namespace hat::ycsb
