// SPDX-License-Identifier: Apache-2.0
// kv/server/tuning.h: what HatKV's hints say of its storage: how many read at once, and which
// writes wait for others to share a commit with.
//
//   concurrency   of the functions that read: that many read transactions at once, but never fewer
//                 than the host has cores; under, full: as many as cores; over: four times that
//   perf_goal     of a function that writes: latency commits at once what has come; throughput
//                 waits up to 500 µs for more, res_util up to 2 ms: fewer waits for the disk
//
// No hint touches durability: that is a promise to whoever reads the data, not a wish about speed.
//
// Source   HatRPC (SC'21) 4.4: max readers by the concurrency hint; commit strategies.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "config/manifest.h"

namespace hat {

struct Tuning {
  uint32_t readers = 126;  // LMDB's own default, where no hint says
  std::chrono::microseconds put_patience{0};
  std::chrono::microseconds multiput_patience{0};
  std::chrono::microseconds remove_patience{0};

  friend bool operator==(const Tuning&, const Tuning&) = default;
};

// Hints of the server's side count. `cores`: of this host.
Tuning tune(const ServiceSpec& service, uint32_t cores);

// From the manifest's service HatKV. Errors: the file's mistakes, with their places.
Result<Tuning> read_tuning(const std::string& manifest_path, uint32_t cores);

// One line for a person: "readers 16; put commits at once; multiput waits up to 500 µs; …".
std::string describe(const Tuning& tuning);

}  // namespace hat
