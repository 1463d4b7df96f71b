// SPDX-License-Identifier: Apache-2.0
// bench/atb/caller.h: one client: makes calls on its connection and checks each answer.
//
// The connection is framed binary and carries one call at a time. The first 8 bytes of a payload
// (fewer if it is shorter) are the call's number, so that the check also detects the answer of
// another call.
//
// Thread   one.
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
  // Connects a client. `number` must differ between clients.
  static Outcome<std::unique_ptr<Caller>> connect(const Options& options, uint32_t number);
  ~Caller();

  struct Times {
    Clock::time_point begun;
    Clock::time_point ended;  // when the answer arrived; the check is not included
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
