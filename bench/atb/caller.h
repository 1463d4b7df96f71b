// SPDX-License-Identifier: Apache-2.0
// bench/atb/caller.h: one client of the ATB benchmarks: makes calls on one connection and checks
// each answer.
//
// The connection is framed binary and carries one call at a time. The first 8 bytes of a request's
// payload are the call's number (fewer bytes if the payload is shorter), so that the check also
// detects the answer to another call.
//
// Thread   Only one thread may use a Caller.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/atb/failure.h"
#include "bench/atb/options.h"

namespace hat::atb {

using Clock = std::chrono::steady_clock;

enum class Function : uint8_t { kLatency, kThroughput };
inline constexpr size_t kFunctions = 2;

class AtbClient;

class Caller {
 public:
  // Connects a client. Each client must have a different `number`.
  static Outcome<std::unique_ptr<Caller>> connect(const Options& options, uint32_t number);
  ~Caller();

  struct Times {
    Clock::time_point begun;
    Clock::time_point ended;  // when the answer arrived, before its check
  };
  Outcome<Times> call(Function function, const Sizes& sizes);

 private:
  Caller(std::unique_ptr<AtbClient> client, uint32_t number);
  void number_payload();

  std::unique_ptr<AtbClient> client_;
  uint64_t next_number_;
  std::string payload_;
};

}  // namespace hat::atb
