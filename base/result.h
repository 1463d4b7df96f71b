// SPDX-License-Identifier: Apache-2.0
// base/result.h: a value, or a sentence that says what went wrong.
//
// Cold code returns Result<T>; callers pass the error up, or add *where* with in(). Whoever decides
// that something is an error words it, once: what happened, where, and what to do. The path of a
// call uses enums instead (no string, no allocation). No exception crosses a room.
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

// The same error, with the place in front: "peers.host-b: connection refused".
inline Error in(std::string_view where, Error error) {
  error.message.insert(0, ": ").insert(0, where);
  return error;
}

inline std::unexpected<Error> fail(std::string message) {
  return std::unexpected(Error{std::move(message)});
}

// HAT_TRY(auto file, open(path)); returns the error from the enclosing function, or declares
// `file`.
#define HAT_TRY(declaration, expression) \
  HAT_TRY_(declaration, expression, HAT_JOIN(hat_try_, __LINE__))
#define HAT_TRY_(declaration, expression, name)               \
  auto name = (expression);                                   \
  if (!name) return std::unexpected(std::move(name.error())); \
  declaration = std::move(*name)

// The same for a Result<void>.
#define HAT_TRY_VOID(expression)                                                                   \
  do {                                                                                             \
    if (auto hat_try = (expression); !hat_try) return std::unexpected(std::move(hat_try.error())); \
  } while (false)

#define HAT_JOIN(a, b) HAT_JOIN_(a, b)
#define HAT_JOIN_(a, b) a##b

}  // namespace hat
