// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <limits>

#include "daemon/admin/fake_control.h"
#include "daemon/admin/metrics_page.h"

// Checks how long the metrics page of a node with many active functions takes. Sanitized builds do
// not have this test.
namespace hat {
namespace {

constexpr size_t kServices = 20;
constexpr size_t kFunctionsPerService = 50;
constexpr size_t kScaleWorkers = 4;

Manifest many_functions() {
  Manifest manifest;
  for (size_t i = 0; i < kServices; ++i) {
    ServiceSpec& service = manifest.services.emplace_back();
    service.name = "ServiceWithAnOrdinaryName" + std::to_string(i);
    for (size_t j = 0; j < kFunctionsPerService; ++j) {
      service.functions.push_back({.name = "functionWithAnOrdinaryName" + std::to_string(j)});
    }
  }
  return manifest;
}

// Counts calls of each function on `side`, on all workers, with durations in every bucket.
void call_everything(FakeControl& control, const Manifest& manifest, Side side) {
  const Carrier protocol = carrier(*engine::find_protocol("direct_write_imm"));
  const CallWay way{protocol, protocol};
  uint64_t number = 0;
  for (const ServiceSpec& service : manifest.services) {
    for (const FunctionSpec& function : service.functions) {
      for (size_t worker = 0; worker < kScaleWorkers; ++worker) {
        auto& counters = control.registry.find(service.name, function.name).at(side, worker);
        const uint64_t calls = 1'000'003 + ++number;
        counters.started.add(calls);
        counters.requests[0].add(calls);
        counters.request_sizes.add(calls);
        counters.reply_sizes.add(calls);
        if (side == Side::kClient) counters.ways.add(way);
        for (size_t i = 0; i < kLatencyBuckets; ++i) {
          counters.latency.add(std::chrono::nanoseconds((1000ull << i) - number % 400));
        }
      }
    }
  }
}

// Returns the processor time of this thread, in ms. Other processes on the host do not change it.
double thread_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

// Returns the memory that this process has allocated, in MB.
double allocated_mb() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd) / 1e6;
}

struct PageTimes {  // in ms
  double first;
  double later;  // the shortest one of later pages
  double text;   // the part of it for the text, which prometheus-cpp makes
};

// Makes pages and prints their times. Many pages make it likely that one is not slowed down by the
// other hardware thread of the core.
PageTimes page_times(FakeControl& control, const char* sides, int pages) {
  const double before = allocated_mb();
  MetricFamilies kept;
  std::string page;
  const auto make = [&] {
    const double begin = thread_ms();
    page = metrics_page(control, {}, kept);
    return thread_ms() - begin;
  };
  const double first = make();
  double best = std::numeric_limits<double>::max();
  double text = best;
  for (int i = 0; i < pages; ++i) {
    best = std::min(best, make());
    const double begin = thread_ms();
    page = kept.text();
    text = std::min(text, thread_ms() - begin);
  }
  const auto lines = std::ranges::count(page, '\n');
  const auto bytes = static_cast<double>(page.size());
  page = {};
  const double memory = allocated_mb() - before;
  std::printf(
      "%zu functions on %s, %zu workers: %.1f ms (text alone: %.1f ms), first page %.1f ms, "
      "%td lines, %.1f MB, kept %.1f MB\n",
      kServices * kFunctionsPerService, sides, kScaleWorkers, best, text, first, lines, bytes / 1e6,
      memory);
  EXPECT_GT(kept.series(), 36 * kServices * kFunctionsPerService) << "all functions have series";
  return {first, best, text};
}

// The calls of local clients have more series than those to local servers. On a quiet machine a
// page takes about 70 ms, and the processor time is longer if other threads use the same core.
TEST(MetricsAtScale, APageOfAThousandActiveFunctionsIsMadeQuicklyAndReusesTheOneBefore) {
  FakeControl control(kScaleWorkers);
  const Manifest manifest = many_functions();
  control.set_manifest(manifest, {8, 8, true, ""});
  call_everything(control, manifest, Side::kClient);
  const PageTimes one_side = page_times(control, "one side", 30);
  EXPECT_LT(one_side.later, 200);
  EXPECT_LT(one_side.later - one_side.text, 0.6 * (one_side.first - one_side.text));
  call_everything(control, manifest, Side::kServer);
  const PageTimes both = page_times(control, "both sides", 10);
  EXPECT_LT(both.later, 3 * one_side.later);
}

}  // namespace
}  // namespace hat
