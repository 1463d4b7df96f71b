// SPDX-License-Identifier: Apache-2.0
#include "engine/frame.h"

#include <gtest/gtest.h>

namespace hat::engine {
namespace {

TEST(Frame, RefusesWhatNoSenderOfOursWouldSend) {
  struct Row {
    const char* name;
    FrameHeader header;
    bool valid;
  };
  for (const auto& [name, header, valid] : {
           Row{"call", {.kind = FrameKind::kCall, .stream = 1, .call = 1}, true},
           Row{"ping", {.kind = FrameKind::kPing}, true},
           Row{"largest payload",
               {.payload_bytes = kFramePayloadBytesMax, .kind = FrameKind::kRaw, .stream = 1},
               true},
           Row{"payload over the limit",
               {.payload_bytes = kFramePayloadBytesMax + 1, .kind = FrameKind::kRaw, .stream = 1},
               false},
           Row{"kind 0", {}, false},
           Row{"kind beyond the last",
               {.kind = static_cast<FrameKind>(static_cast<int>(FrameKind::kResumed) + 1),
               .stream = 1},
               false},
           Row{"unknown flag", {.kind = FrameKind::kRaw, .flags = 0x80, .stream = 1}, false},
           Row{"a polling mode",
               {.kind = FrameKind::kCall,
               .flags = polling_flags(Polling::kAdaptive),
               .stream = 1,
               .call = 1},
               true},
           Row{"call without a stream", {.kind = FrameKind::kCall, .call = 1}, false},
           Row{"call without a number", {.kind = FrameKind::kCall, .stream = 1}, false},
           Row{"ping on a stream", {.kind = FrameKind::kPing, .stream = 1}, false},
           Row{"lane", {.kind = FrameKind::kLaneOpen, .stream = 1}, true},
           Row{"lane without a number", {.kind = FrameKind::kLaneOpen}, false},
           Row{"costs", {.kind = FrameKind::kCostOpen, .stream = 1}, true},
           Row{"a lane's nonce", {.kind = FrameKind::kLaneNonce, .stream = 1}, true},
           Row{"a lane's nonce without a number", {.kind = FrameKind::kLaneNonce}, false},
           Row{"a bound stream", {.kind = FrameKind::kBound, .stream = 1}, true},
           Row{"a stream that attaches", {.kind = FrameKind::kAttach, .stream = 1}, true},
           Row{"a stream that resumes", {.kind = FrameKind::kResume, .stream = 1}, true},
           Row{"no stream that has resumed", {.kind = FrameKind::kResumed}, false},
           Row{"no stream that detaches", {.kind = FrameKind::kDetach}, false},
           Row{"no stream that is bound", {.kind = FrameKind::kBound}, false},
           Row{"costs without a number", {.kind = FrameKind::kCostOpen}, false},
           Row{"credit on no stream", {.kind = FrameKind::kCredit}, false},
       }) {
    EXPECT_EQ(invalid(header) == nullptr, valid) << name;
  }
}

}  // namespace
}  // namespace hat::engine
