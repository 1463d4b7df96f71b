// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/handler.cc: the longer functions of the test service's handler.
#include "tests/e2e/cpp/handler.h"

#include <chrono>
#include <stdexcept>
#include <thread>

namespace probe_peer {

int32_t ProbeHandler::divide(int32_t numerator, int32_t denominator) {
  if (denominator == 0) {
    probe::DivisionByZero error;
    error.numerator = numerator;
    error.message = "cannot divide by zero";
    throw error;
  }
  return numerator / denominator;
}

void ProbeHandler::fail(const std::string& why) { throw std::runtime_error(why); }

void ProbeHandler::note(const std::string& who) {
  std::lock_guard lock(mutex_);
  ++notes_[who];
}

int32_t ProbeHandler::count(const std::string& who) {
  std::lock_guard lock(mutex_);
  const int32_t result = notes_[who];
  notes_.erase(who);
  return result;
}

int32_t ProbeHandler::slow(int32_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  return ms;
}

void ProbeHandler::produce(std::string& result, int32_t size) {
  result.resize(static_cast<size_t>(size));
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<char>(i % 251);
}

}  // namespace probe_peer
