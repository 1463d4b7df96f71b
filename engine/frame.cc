// SPDX-License-Identifier: Apache-2.0
#include "engine/frame.h"

namespace hat::engine {

const char* invalid(const FrameHeader& header, uint32_t payload_bytes_max) {
  if (header.payload_bytes > payload_bytes_max) return "the payload exceeds the frame limit";
  if ((header.flags & ~kFlagsKnown) != 0) return "unknown frame flags";
  switch (header.kind) {
    case FrameKind::kHello:
    case FrameKind::kRefuse:
    case FrameKind::kPing:
    case FrameKind::kPong:
    case FrameKind::kGoAway:
      return header.stream == 0 ? nullptr : "a frame of the link has a stream number";
    case FrameKind::kOpen:
    case FrameKind::kRaw:
    case FrameKind::kCredit:
    case FrameKind::kEnd:
    case FrameKind::kReset:
    case FrameKind::kSync:
    case FrameKind::kSynced:
    case FrameKind::kLaneOpen:
    case FrameKind::kLaneAccept:
    case FrameKind::kLaneReady:
    case FrameKind::kLaneUp:
    case FrameKind::kLaneClose:
    case FrameKind::kCostOpen:
    case FrameKind::kCostAccept:
    case FrameKind::kCostClose:
    case FrameKind::kLaneNonce:
    case FrameKind::kBound:
    case FrameKind::kDetach:
    case FrameKind::kDetached:
    case FrameKind::kAttach:
    case FrameKind::kResume:
    case FrameKind::kResumed:
      return header.stream != 0 ? nullptr : "a frame of a stream has no stream number";
    case FrameKind::kCall:
    case FrameKind::kReply:
    case FrameKind::kMore:
    case FrameKind::kFail:
    case FrameKind::kCancel:
      if (header.stream == 0) return "a frame of a stream has no stream number";
      return header.call != 0 ? nullptr : "a frame of a call has no call number";
  }
  return "unknown frame kind";
}

}  // namespace hat::engine
