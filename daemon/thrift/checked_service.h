// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/checked_service.h: the service of checked.thrift, as the stock generated code
// writes and reads its requests; for tests alone.
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

// A request of a random function with random arguments, unframed, as generated code writes it.
std::string checked_request(Encoding encoding, std::mt19937& random);

// What the generated processor does with bytes that come one after the other.
struct StockServed {
  std::vector<std::string> calls;  // functions that were called
  std::string error;               // what it threw: then its connection ends

  friend bool operator==(const StockServed&, const StockServed&) = default;
};
StockServed serve_checked(Framing framing, Encoding encoding, std::string_view bytes);

// The function's arguments as hintgen would write them; none where there is no such function.
std::optional<ArgumentTypes> checked_arguments(std::string_view function, bool allow_unknown);

// What a request guard makes of a request of the service, framed or not.
struct CheckedVerdict {
  std::optional<BodyFault> fault;
  std::string function;  // where there is no fault

  friend bool operator==(const CheckedVerdict&, const CheckedVerdict&) = default;
};
CheckedVerdict verdict_of(std::string_view bytes, bool allow_unknown = false);

// Returns an error where the two disagree: to the generated code, a request without fault is one
// call of its function, which ends with its last byte. What it refuses is a disagreement too: other
// languages' servers go on behind the place where they refuse.
std::optional<std::string> disagreement(std::string_view bytes, bool allow_unknown);

// Changes a request as an attacker would: bytes, types, counts, parts of other requests.
void mutate(std::string& request, const std::string& other, std::mt19937& random);

}  // namespace hat::thrift
