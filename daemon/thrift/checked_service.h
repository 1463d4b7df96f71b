// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/checked_service.h: writes and reads requests of the service in checked.thrift with
// the stock generated code; for tests only.
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

// How the generated processor handled a sequence of bytes.
struct StockServed {
  std::vector<std::string> calls;  // the functions that the processor called
  std::string error;               // the exception that it threw, which ends its connection

  friend bool operator==(const StockServed&, const StockServed&) = default;
};
// Gives `bytes` to the generated processor until it has read all of them, reports failure or
// throws.
StockServed serve_checked(Framing framing, Encoding encoding, std::string_view bytes);

// Returns the function's argument types as hintgen would write them, or nullopt if the service does
// not have the function.
std::optional<ArgumentTypes> checked_arguments(std::string_view function, bool allow_unknown);

// The result of a request guard's checks for a request of the service, framed or not.
struct CheckedVerdict {
  std::optional<BodyFault> fault;
  std::string function;  // empty if there is a fault

  friend bool operator==(const CheckedVerdict&, const CheckedVerdict&) = default;
};
// Checks a request as a request guard does.
CheckedVerdict verdict_of(std::string_view bytes, bool allow_unknown = false);

// Returns an error if the check finds no fault in a request, but the generated code does not read
// the request as exactly one call of its function that ends with its last byte. An exception of the
// generated code counts as a disagreement too, because servers in other languages continue with the
// bytes after those that they refuse.
std::optional<std::string> disagreement(std::string_view bytes, bool allow_unknown);

// Changes a request at random as an attacker would: bytes, types, counts, parts of other requests.
void mutate(std::string& request, const std::string& other, std::mt19937& random);

}  // namespace hat::thrift
