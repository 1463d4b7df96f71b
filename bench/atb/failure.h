// SPDX-License-Identifier: Apache-2.0
// bench/atb/failure.h: an error of the program atb: an exit status and a message.
#pragma once

#include <expected>
#include <string>

namespace hat::atb {

enum class Exit : int {
  kDone = 0,
  kCannotMeasure = 1,  // no connection, no answer, or an error of the server
  kUsage = 2,
  kWrongAnswer = 3,  // the answer's checksum or size is wrong
};

struct Failure {
  Exit exit = Exit::kCannotMeasure;
  std::string message;
};

template <class T>
using Outcome = std::expected<T, Failure>;

}  // namespace hat::atb
