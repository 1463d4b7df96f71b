// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/checked_service.h: writes and reads requests of the test service in checked.thrift
// with the code that the Thrift compiler generates. Tests compare the daemon's check of requests
// with this code.
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/thrift/message.h"
#include "daemon/thrift/request_check.h"

namespace hat::thrift {

// Returns an unframed request of a random function with random arguments, as generated code writes
// it.
std::string checked_request(Encoding encoding, std::mt19937& random);

// The result of giving bytes to the generated processor (the code that calls the functions of a
// service).
struct StockServed {
  std::vector<std::string> calls;  // the functions that the processor called
  std::string error;  // the exception that the processor threw; a server would then close

  friend bool operator==(const StockServed&, const StockServed&) = default;
};
// Gives `bytes` to the generated processor until the processor has read all of them, reports a
// failure, or throws an exception.
StockServed serve_checked(Framing framing, Encoding encoding, std::string_view bytes);

// Returns the function's argument types as hintgen would write them, or nullopt if the service does
// not have the function.
std::optional<ArgumentTypes> checked_arguments(std::string_view function, bool allow_unknown);

// The result of the checks that a daemon makes of a request before it passes the request to the
// server. The request may have a frame or not.
struct CheckedVerdict {
  std::optional<BodyFault> fault;
  std::string function;  // empty if there is a fault

  friend bool operator==(const CheckedVerdict&, const CheckedVerdict&) = default;
};
// Checks a request as the daemon checks the requests of restricted peers.
CheckedVerdict verdict_of(std::string_view bytes, bool allow_unknown = false);

// Returns an error if the daemon's check accepts the request but the generated code reads the
// request differently. The generated code must read exactly one call, of the function that the
// check has found, and this call must end with the last byte. An exception of the generated code is
// an error too: servers in other languages would continue with the bytes after those that they
// refuse.
std::optional<std::string> disagreement(std::string_view bytes, bool allow_unknown);

// Changes `request` at random as an attacker would: changes bytes, types and counts, and inserts
// parts of the request `other`.
void mutate(std::string& request, const std::string& other, std::mt19937& random);

}  // namespace hat::thrift
