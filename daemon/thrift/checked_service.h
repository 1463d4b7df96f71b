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
// it in `encoding`.
std::string checked_request(Encoding encoding, std::mt19937& random);

// The result of passing bytes to the service's generated processor, which reads requests and calls
// the functions.
struct StockServed {
  std::vector<std::string> calls;  // the functions that the processor called
  std::string error;  // the exception that the processor threw; a real server would then close the
                      // connection

  friend bool operator==(const StockServed&, const StockServed&) = default;
};
// Passes `bytes` to the generated processor until it has read all of them, reports a failure, or
// throws an exception.
StockServed serve_checked(Framing framing, Encoding encoding, std::string_view bytes);

// Returns the argument types of `function` as hintgen would write them. Returns nullopt if the
// service does not have the function.
std::optional<ArgumentTypes> checked_arguments(std::string_view function, bool allow_unknown);

// The result of the checks that the daemon makes before it passes a request of a restricted peer to
// the server.
struct CheckedVerdict {
  std::optional<BodyFault> fault;
  std::string function;  // the function's name; empty if there is a fault

  friend bool operator==(const CheckedVerdict&, const CheckedVerdict&) = default;
};
// Checks a request, framed or unframed, as the daemon checks the requests of restricted peers.
CheckedVerdict verdict_of(std::string_view bytes, bool allow_unknown = false);

// Returns an error if the daemon's check accepts the request, but the generated code does not read
// exactly one call, of the function that the check has found, up to the last byte. An exception in
// the generated code is also an error: servers in other languages would continue with the bytes
// after those that they rejected.
std::optional<std::string> disagreement(std::string_view bytes, bool allow_unknown);

// Changes `request` at random, as an attacker could: changes bytes, types and counts, and inserts
// parts of the request `other`.
void mutate(std::string& request, const std::string& other, std::mt19937& random);

}  // namespace hat::thrift
