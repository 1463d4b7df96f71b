// SPDX-License-Identifier: Apache-2.0
// bench/atb/options.h: reads the command line of atb.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/address.h"
#include "base/result.h"

namespace hat::atb {

enum class Command : uint8_t { kServer, kLatency, kThroughput, kMix };

// libthrift's own default for a frame is 16,384,000 bytes.
inline constexpr uint32_t kPayloadBytesMax = 8u << 20;

struct Sizes {
  uint32_t request_bytes = 512;
  uint32_t answer_bytes = 512;
};

struct Options {
  Command command{};
  Address address;  // where the server is, or listens

  uint32_t clients_max = 1024;  // server: connections at once

  uint32_t min_bytes = 4;  // latency
  uint32_t max_bytes = 512u << 10;
  uint32_t factor = 2;

  Sizes latency;  // mix: of each function; throughput: of its one
  Sizes throughput;
  uint32_t latency_percent = 50;  // mix
  uint32_t threads = 1;           // throughput, mix: of each process
  uint32_t processes = 1;

  uint64_t iterations = 0;  // calls of a client at most; 0: no bound
  double seconds = 0;       // time of a measurement at most; 0: no bound
  double warm_up = 0.5;     // seconds before it
  uint32_t timeout = 30;    // seconds for an answer
  bool json = false;
};

struct Help {
  std::string text;
};

// Errors name the option, what was found and what was expected.
Result<std::variant<Options, Help>> parse_options(const std::vector<std::string>& words);

// `latency`'s payloads: min, each `factor` times the one before, and max.
std::vector<uint32_t> payload_sizes(const Options& options);

}  // namespace hat::atb
