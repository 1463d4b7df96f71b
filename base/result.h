// SPDX-License-Identifier: Apache-2.0
// base/result.h: a value, or an error with a code for programs and a sentence for people.
//
// Functions off the path of a call return Result<T>. The code that detects an error writes its
// message: what failed, on which object, and what to do. A caller returns the error to its own
// caller, and can add a location with in(). A caller that distinguishes errors compares the code,
// never the message. Functions on the path of a call return enums instead, without strings and
// allocations. No exception crosses the boundary of a component (a top-level folder).
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace hat {

// The kind of a failure, which says what a person or a program can do about it.
enum class ErrorCode : uint8_t {
  kInvalid,      // a file, an option, a setting or a request is wrong; the user must correct it
  kNotFound,     // the object that was named does not exist
  kBusy,         // the object is in use, or exists already
  kDenied,       // a permission or a rule forbids the operation
  kExhausted,    // a limit is reached: descriptors, memory, space on a disk, a limit of our own
  kUnsupported,  // this host, its device or the other side's version lacks the operation
  kUnavailable,  // the other side cannot be reached, does not answer, or is shutting down
  kClosed,       // the other side has closed the connection
  kProtocol,     // the other side sent what the protocol does not allow, or a wrong result
  kStopped,      // this side was asked to stop before it was done
  kSystem,       // a system call or a library failed for another reason, named in the message
};

struct Error {
  ErrorCode code;
  std::string message;
};

template <class T>
using Result = std::expected<T, Error>;

// Returns `error` with `where` in front of its message, as in "peers.host-b: connection refused".
// The code is unchanged.
inline Error in(std::string_view where, Error error) {
  error.message.insert(0, ": ").insert(0, where);
  return error;
}

inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

// HAT_TRY(auto file, open(path)); declares `file` with the value of the result, or returns the
// error from the enclosing function.
#define HAT_TRY(declaration, expression) \
  HAT_TRY_(declaration, expression, HAT_JOIN(hat_try_, __LINE__))
#define HAT_TRY_(declaration, expression, name)               \
  auto name = (expression);                                   \
  if (!name) return std::unexpected(std::move(name.error())); \
  declaration = std::move(*name)

// HAT_TRY_VOID(save(path)); returns the error of a Result<void> from the enclosing function.
#define HAT_TRY_VOID(expression)                                                                   \
  do {                                                                                             \
    if (auto hat_try = (expression); !hat_try) return std::unexpected(std::move(hat_try.error())); \
  } while (false)

#define HAT_JOIN(a, b) HAT_JOIN_(a, b)
#define HAT_JOIN_(a, b) a##b

}  // namespace hat
