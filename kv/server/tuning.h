// SPDX-License-Identifier: Apache-2.0
// kv/server/tuning.h: derives storage settings from HatKV's hints: the number of readers, and which
// writes wait for others to share a commit.
//
//   concurrency   of functions that read: the number of concurrent read transactions, but at least
//                 as many as the host has cores; under, full: as many as cores; over: four times
//                 as many
//   perf_goal     of functions that write: latency commits at once; throughput waits up to 500 µs
//                 for more writes, res_util up to 2 ms, so that fewer commits wait for the disk
//
// No hint changes durability, which is a promise to the owner of the data and not a matter of
// speed.
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
  uint32_t readers = 126;  // LMDB's own default, if no hint says otherwise
  std::chrono::microseconds put_patience{0};
  std::chrono::microseconds multiput_patience{0};
  std::chrono::microseconds remove_patience{0};

  friend bool operator==(const Tuning&, const Tuning&) = default;
};

// Returns the settings for the service's hints, as they apply to the server's side. `cores` is the
// number of this host's cores.
Tuning tune(const ServiceSpec& service, uint32_t cores);

// Reads the settings from the service HatKV of a manifest. Errors: the file's diagnostics with
// their source locations.
Result<Tuning> read_tuning(const std::string& manifest_path, uint32_t cores);

// Returns one line for a person: "readers 16; put commits at once; multiput waits up to 500 µs; …".
std::string describe(const Tuning& tuning);

}  // namespace hat
