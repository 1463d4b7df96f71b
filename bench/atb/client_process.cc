// SPDX-License-Identifier: Apache-2.0
#include "bench/atb/client_process.h"

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace hat::atb {
namespace {

using Seconds = std::chrono::duration<double>;

bench::Window window_of(const Options& options, Clock::time_point warm_up_begins) {
  const auto after = [](Clock::time_point time, double seconds) {
    return time + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  };
  const auto begin = after(warm_up_begins, options.warm_up);
  return {.begin = begin,
          .end = options.seconds == 0 ? Clock::time_point::max() : after(begin, options.seconds),
          .by_count = options.iterations != 0};
}

class Client {
 public:
  Client(const Load& load, uint32_t number) : load_(load), number_(number), chance_(number) {}

  Outcome<void> connect() {
    auto caller = Caller::connect(load_.options, number_);
    if (!caller) return std::unexpected(caller.error());
    caller_ = std::move(*caller);
    const auto answered = call();
    if (!answered) return std::unexpected(answered.error());
    return {};
  }

  Outcome<Measured> measure(const bench::Window& window) {
    Measured measured;
    bench::Account& account = measured.account;
    const uint64_t wanted = load_.options.iterations;
    uint64_t begun = 0;
    for (auto now = Clock::now(); now < window.end && (wanted == 0 || begun != wanted);) {
      const auto times = call();
      if (!times) return std::unexpected(times.error());
      auto& of_function = measured.functions[static_cast<size_t>(function_)];
      if (window.holds(times->begun)) ++begun;
      if (window.counts(times->begun, times->ended)) {
        ++of_function.ended;
        measured.until = times->ended;
      }
      if (const auto time = account.add_call(window, now, times->begun, times->ended)) {
        of_function.times.record(static_cast<uint64_t>(time->count()));
      }
      now = times->ended;
    }
    account.close();
    if (wanted == 0 || begun != wanted || account.ended == 0) measured.until = window.end;
    return measured;
  }

 private:
  Outcome<Caller::Times> call() {
    const bool latency = percent_(chance_) <= load_.latency_percent;
    function_ = latency ? Function::kLatency : Function::kThroughput;
    return caller_->call(function_, latency ? load_.latency : load_.throughput);
  }

  const Load& load_;
  uint32_t number_;
  std::mt19937 chance_;
  std::uniform_int_distribution<uint32_t> percent_{1, 100};
  std::unique_ptr<Caller> caller_;
  Function function_{};
};

// Writes the failure to the slot and exits. If several threads fail, only the first thread writes
// its failure; the other threads wait for the lock until the process exits.
[[noreturn]] void end_process(const Failure& failure, Slot& slot) {
  static std::mutex first;
  first.lock();
  std::snprintf(slot.failure, sizeof(slot.failure), "%s", failure.message.c_str());
  std::_Exit(static_cast<int>(failure.exit));
}

}  // namespace

void run_clients(const Load& load, uint32_t first_client,
                 const std::function<Clock::time_point()>& wait_for_begin, Slot& slot) {
  std::barrier<> connected(load.options.threads + 1);
  std::barrier<> begin(load.options.threads + 1);
  bench::Window window;
  std::mutex adding;
  std::vector<std::jthread> threads;
  for (uint32_t i = 0; i < load.options.threads; ++i) {
    threads.emplace_back([&, number = first_client + i] {
      Client client(load, number);
      const auto answered = client.connect();
      if (!answered) end_process(answered.error(), slot);
      connected.arrive_and_wait();
      begin.arrive_and_wait();
      const auto measured = client.measure(window);
      if (!measured) end_process(measured.error(), slot);
      const std::lock_guard lock(adding);
      slot.measured.add(*measured);
    });
  }
  connected.arrive_and_wait();
  window = window_of(load.options, wait_for_begin());
  begin.arrive_and_wait();
}

}  // namespace hat::atb
