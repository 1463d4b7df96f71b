// SPDX-License-Identifier: Apache-2.0
#include "base/system_error.h"

#include <cerrno>
#include <cstring>

namespace hat {

ErrorCode code_of_errno(int error) {
  switch (error) {
    case EINVAL:
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
      return ErrorCode::kInvalid;
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ESRCH:
      return ErrorCode::kNotFound;
    case EADDRINUSE:
    case EBUSY:
    case EEXIST:
      return ErrorCode::kBusy;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kDenied;
    case EAGAIN:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case ENOSPC:
      return ErrorCode::kExhausted;
    case EAFNOSUPPORT:
    case ENOSYS:
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
      return ErrorCode::kUnsupported;
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ETIMEDOUT:
      return ErrorCode::kUnavailable;
    case ECONNRESET:
    case EPIPE:
      return ErrorCode::kClosed;
    default:
      return ErrorCode::kSystem;
  }
}

std::unexpected<Error> fail_errno(std::string what, int error) {
  return fail(code_of_errno(error), std::move(what.append(": ").append(std::strerror(error))));
}

}  // namespace hat
