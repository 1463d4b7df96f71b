// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/fabric.h"

namespace hat::engine {

std::string_view text(Status status) {
  switch (status) {
    case Status::kSuccess:
      return "success";
    case Status::kLocalProtection:
      return "a segment is outside of registered memory";
    case Status::kLocalLength:
      return "a message is longer than its receive buffer";
    case Status::kLocalOperation:
      return "this queue pair does not support the request";
    case Status::kRemoteAccess:
      return "the other side denies access to its memory";
    case Status::kRemoteInvalid:
      return "the other side does not support the request";
    case Status::kRemoteOperation:
      return "the other side could not receive the message";
    case Status::kRetryExceeded:
      return "the other side does not answer";
    case Status::kRnrRetryExceeded:
      return "the other side has no receive buffer posted";
    case Status::kFlushed:
      return "flushed, because the queue pair is in the error state";
    case Status::kOther:
      break;
  }
  return "the device reports an error";
}

}  // namespace hat::engine
