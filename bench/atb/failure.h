// SPDX-License-Identifier: Apache-2.0
// bench/atb/failure.h: why atb ends, as its exit status and in words.
#pragma once

#include <expected>
#include <string>

namespace hat::atb {

enum class Exit : int {
  kDone = 0,
  kCannotMeasure = 1,  // no connection, no answer, a server's error
  kUsage = 2,
  kWrongAnswer = 3,  // its checksum or its size is not what it must be
};

struct Failure {
  Exit exit = Exit::kCannotMeasure;
  std::string message;
};

template <class T>
using Outcome = std::expected<T, Failure>;

}  // namespace hat::atb
