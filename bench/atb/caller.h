// SPDX-License-Identifier: Apache-2.0
// bench/atb/caller.h: one client: a connection and its calls, of which each answer is checked.
//
// Framed binary, one call at a time. No two calls carry the same payload: its first bytes number
// it, so that an answer to another call is noticed too.
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
  // `number` is another for each client.
  static Outcome<std::unique_ptr<Caller>> connect(const Options& options, uint32_t number);
  ~Caller();

  struct Times {
    Clock::time_point begun;
    Clock::time_point ended;  // the answer is there; checking it takes no part
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
