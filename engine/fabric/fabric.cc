// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/fabric.h"

namespace hat::engine {

std::string_view text(Status status) {
  switch (status) {
    case Status::kSuccess:
      return "success";
    case Status::kLocalProtection:
      return "a segment outside of registered memory";
    case Status::kLocalLength:
      return "a message longer than its receive";
    case Status::kLocalOperation:
      return "a request that this queue pair cannot do";
    case Status::kRemoteAccess:
      return "the other side allows no such access";
    case Status::kRemoteInvalid:
      return "the other side cannot do the request";
    case Status::kRemoteOperation:
      return "the other side could not take the message";
    case Status::kRetryExceeded:
      return "the other side does not answer";
    case Status::kRnrRetryExceeded:
      return "the other side has no receive";
    case Status::kFlushed:
      return "flushed: the queue pair was in error";
    case Status::kOther:
      break;
  }
  return "an error of the device";
}

}  // namespace hat::engine
