// SPDX-License-Identifier: Apache-2.0
// bench/engine/floors.cc: measures the lowest times that this machine can reach: for a flag that
// goes from one core to another, and for memcpy().
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/rounded.h"
#include "base/shared_memory.h"
#include "bench/engine/measure.h"
#include "bench/engine/two.h"

namespace hat::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  alignas(64) std::atomic<uint64_t> there;
  alignas(64) std::atomic<uint64_t> back;
};

}  // namespace

void measure_flag(const Settings& settings) {
  const SharedMemory memory = *SharedMemory::create("hatrpc-flags", sizeof(Flags));
  auto& flags = *reinterpret_cast<Flags*>(memory.bytes().data());
  constexpr uint64_t kEnd = UINT64_MAX;
  std::vector<float> latencies;
  run_two(
      [&](const Wire&) {
        const auto end = Clock::now() + std::chrono::duration<double>(settings.seconds);
        latencies.reserve(1 << 20);
        for (uint64_t round = 1; latencies.size() < 1 << 20; ++round) {
          const auto begin = Clock::now();
          if (begin >= end) break;
          flags.there.store(round, std::memory_order_release);
          while (flags.back.load(std::memory_order_acquire) != round) {
          }
          const std::chrono::duration<float, std::micro> took = Clock::now() - begin;
          latencies.push_back(took.count());
        }
        flags.there.store(kEnd);
      },
      [&](const Wire&) {
        for (uint64_t round = 1;; ++round) {
          uint64_t got = 0;
          while ((got = flags.there.load(std::memory_order_acquire)) != round && got != kEnd) {
          }
          if (got == kEnd) return;
          flags.back.store(round, std::memory_order_release);
        }
      });
  std::ranges::sort(latencies);
  const auto us = [&](size_t index) { return rounded(double(latencies[index]), 3); };
  const nlohmann::ordered_json result = {{"measurement", "flag"},
                                         {"p50_us", us(latencies.size() / 2)},
                                         {"p99_us", us(latencies.size() * 99 / 100)}};
  std::puts(result.dump().c_str());
}

// Measures memcpy() from 32 buffers to 32 other buffers in turn, so that large buffers do not stay
// in a core's cache.
void measure_memcpy(const Settings& settings) {
  constexpr size_t kBuffers = 32;
  std::vector<std::byte> from(kBuffers * settings.bytes, std::byte{1});
  std::vector<std::byte> to(kBuffers * settings.bytes, std::byte{2});
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::duration<double>(settings.seconds);
  uint64_t copies = 0;
  while (Clock::now() < end) {
    for (size_t i = 0; i < kBuffers; ++i, ++copies) {
      std::memcpy(to.data() + i * settings.bytes, from.data() + i * settings.bytes, settings.bytes);
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const double gigabytes = double(copies) * double(settings.bytes) * 1e-9;
  const nlohmann::ordered_json result = {{"measurement", "memcpy"},
                                         {"bytes", settings.bytes},
                                         {"gigabytes_per_second", rounded(gigabytes / seconds, 3)}};
  std::puts(result.dump().c_str());
}

}  // namespace hat::bench
