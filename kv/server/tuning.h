// SPDX-License-Identifier: Apache-2.0
// kv/server/tuning.h: derives HatKV's storage settings from hints: the number of readers, and how
// long a write waits to share a commit with other writes.
//
//   concurrency   of functions that read. A number sets the number of concurrent read transactions,
//                 but at least one per core. under, full: one per core. over: four per core.
//   perf_goal     of functions that write. latency: commit at once. throughput: wait up to 500 µs
//                 for more writes. res_util: wait up to 2 ms, so that fewer commits wait for the
//                 disk.
//
// No hint changes the durability, because it is a promise to the owner of the data.
//
// Source   HatRPC (SC'21) 4.4: readers by the concurrency hint; commit strategies.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "config/manifest.h"

namespace hat {

struct Tuning {
  uint32_t readers = 126;  // without a hint: LMDB's default
  std::chrono::microseconds put_patience{0};
  std::chrono::microseconds multiput_patience{0};
  std::chrono::microseconds remove_patience{0};

  friend bool operator==(const Tuning&, const Tuning&) = default;
};

// Returns the settings for the hints of `service` that apply to the server's side. `cores` is the
// number of this host's cores.
Tuning tune(const ServiceSpec& service, uint32_t cores);

// Reads a manifest, and returns the settings for the hints of its service HatKV. Returns an error
// with the file's diagnostics if the manifest is not valid.
Result<Tuning> read_tuning(const std::string& manifest_path, uint32_t cores);

// Describes the settings in one line: "readers 16; put commits at once; multiput waits up to 500
// µs".
std::string describe(const Tuning& tuning);

}  // namespace hat
