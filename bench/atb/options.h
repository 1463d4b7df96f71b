// SPDX-License-Identifier: Apache-2.0
// bench/atb/options.h: parses the command line of atb.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/arguments.h"
#include "base/result.h"

namespace hat::atb {

enum class Command : uint8_t { kServer, kLatency, kThroughput, kMix };

// The largest payload. Its frame is below libthrift's default limit of 16,384,000 bytes.
inline constexpr uint32_t kPayloadBytesMax = 8u << 20;

struct Sizes {
  uint32_t request_bytes = 512;
  uint32_t answer_bytes = 512;
};

struct Options {
  Command command{};
  Address address;  // the server's address; for the command server: the address to listen at

  uint32_t clients_max = 1024;  // command server: concurrent connections

  // Options of the command latency; payload_sizes() describes them.
  uint32_t min_bytes = 4;
  uint32_t max_bytes = 512u << 10;
  uint32_t factor = 2;

  // Options of the commands mix and throughput.
  Sizes latency;                  // mix: payload sizes of the function latency
  Sizes throughput;               // mix, throughput: payload sizes of the function throughput
  uint32_t latency_percent = 50;  // mix: percentage of calls that go to the function latency
  uint32_t threads = 1;           // clients of each process
  uint32_t processes = 1;

  uint64_t iterations = 0;  // maximum number of calls per client; 0: no limit
  double seconds = 0;       // maximum time of a measurement; 0: no limit
  double warm_up = 0.5;     // seconds before the measurement
  uint32_t timeout = 30;    // seconds to wait for an answer
  bool json = false;

  Action action = Action::kRun;
  std::string help;  // if `action` is kShowHelp: the text to print
};

// Parses the arguments after the program's name.
Result<Options> parse_options(const std::vector<std::string>& arguments);

// Returns the payload sizes of the command latency: min_bytes, then each size `factor` times the
// size before it, and at the end max_bytes.
std::vector<uint32_t> payload_sizes(const Options& options);

}  // namespace hat::atb
