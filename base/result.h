// SPDX-License-Identifier: Apache-2.0
// base/result.h: a value, or an error with a sentence that describes what failed.
//
// Code off the path of a call returns Result<T>. Callers pass an error up, or add the location with
// in(). The code that detects an error writes the message once: what failed, on which object, and
// what to do. Code on the path of a call uses enums instead (no string, no allocation). No
// exception crosses the boundary of a component.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace hat {

struct Error {
  std::string message;
};

template <class T>
using Result = std::expected<T, Error>;

// Returns `error` with the location in front: "peers.host-b: connection refused".
inline Error in(std::string_view where, Error error) {
  error.message.insert(0, ": ").insert(0, where);
  return error;
}

inline std::unexpected<Error> fail(std::string message) {
  return std::unexpected(Error{std::move(message)});
}

// HAT_TRY(auto file, open(path)); declares `file` with the value of the result, or returns the
// error from the enclosing function.
#define HAT_TRY(declaration, expression) \
  HAT_TRY_(declaration, expression, HAT_JOIN(hat_try_, __LINE__))
#define HAT_TRY_(declaration, expression, name)               \
  auto name = (expression);                                   \
  if (!name) return std::unexpected(std::move(name.error())); \
  declaration = std::move(*name)

// As HAT_TRY, but for a Result<void>.
#define HAT_TRY_VOID(expression)                                                                   \
  do {                                                                                             \
    if (auto hat_try = (expression); !hat_try) return std::unexpected(std::move(hat_try.error())); \
  } while (false)

#define HAT_JOIN(a, b) HAT_JOIN_(a, b)
#define HAT_JOIN_(a, b) a##b

}  // namespace hat
