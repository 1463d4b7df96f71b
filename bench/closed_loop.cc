// SPDX-License-Identifier: Apache-2.0
#include "bench/closed_loop.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

#include "base/rounded.h"
#include "bench/account.h"
#include "bench/account_json.h"

namespace hat::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kWarmUp = 0.2;  // the share of the time that is the warm-up

// The results of one client.
struct Seen {
  Account account;
  std::vector<float> times;  // µs
};

// Does not run destructors, because the other clients still run.
[[noreturn]] void fail(const ClosedLoop& loop, const char* message) {
  std::fprintf(stderr, "%s: %s\n", loop.program.c_str(), message);
  std::_Exit(1);
}

void call_until_end(const ClosedLoop& loop, const Window& window, Clock::time_point now,
                    LoopClient& client, Seen& seen) {
  while (now < window.end) {
    client.prepare();
    const auto begun = Clock::now();
    client.call();
    const auto ended = Clock::now();
    if (!client.has_right_reply()) fail(loop, "a reply differs from its request");
    if (const auto counted = seen.account.add_call(window, now, begun, ended)) {
      seen.times.push_back(std::chrono::duration<float, std::micro>(*counted).count());
    }
    now = ended;
  }
  seen.account.close();
}

double cpu_seconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double quantile(const std::vector<float>& sorted, double q) {
  return double(
      sorted[std::min(sorted.size() - 1, static_cast<size_t>(q * double(sorted.size())))]);
}

nlohmann::ordered_json results_of(const ClosedLoop& loop, const std::vector<Seen>& seen,
                                  double cpu_used) {
  Account account;
  std::vector<float> times;
  for (const Seen& of_one : seen) {
    account.add(of_one.account);
    times.insert(times.end(), of_one.times.begin(), of_one.times.end());
  }
  if (account.ended == 0 || times.empty()) fail(loop, "no call ended during the measurement");
  std::sort(times.begin(), times.end());
  const double calls_per_s = double(account.ended) / (loop.seconds * (1 - kWarmUp));
  const auto us = [](double value) { return rounded(value, 2); };
  nlohmann::ordered_json result = {{"calls_per_s", rounded(calls_per_s, 1)},
                                   {"p50", us(quantile(times, 0.5))},
                                   {"p99", us(quantile(times, 0.99))},
                                   {"p999", us(quantile(times, 0.999))},
                                   {"cpu_us", us(cpu_used * 1e6 / (calls_per_s * loop.seconds))}};
  result.update(account_json(account));
  return result;
}

}  // namespace

nlohmann::ordered_json run_closed_loop(
    const ClosedLoop& loop,
    const std::function<std::unique_ptr<LoopClient>(uint32_t client)>& make_client) {
  std::vector<Seen> seen(loop.clients);
  for (Seen& of_one : seen) of_one.times.reserve(1u << 20);
  std::vector<std::thread> threads;
  const auto begin = Clock::now();
  const auto after = [&](double seconds) {
    return begin + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  };
  const Window window{after(loop.seconds * kWarmUp), after(loop.seconds)};
  for (uint32_t number = 0; number < loop.clients; ++number) {
    threads.emplace_back([&, number] {
      try {
        const auto client = make_client(number);
        call_until_end(loop, window, begin, *client, seen[number]);
      } catch (const std::exception& error) {
        fail(loop, error.what());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return results_of(loop, seen, cpu_seconds());
}

}  // namespace hat::bench
