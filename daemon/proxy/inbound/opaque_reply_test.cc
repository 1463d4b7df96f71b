// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/opaque_reply_test.cc: a stream that becomes opaque in the middle of a reply.
#include <gmock/gmock.h>

#include "daemon/proxy/fake_node.h"

namespace hat {
namespace {

using engine::FrameHeader;
using engine::FrameKind;

// Returns the opaque bytes in the frames in `bytes`.
std::string raw_bytes_in(std::string_view bytes) {
  std::string raw;
  for (const FrameHeader& header : headers_in(bytes)) {
    if (header.kind == FrameKind::kRaw) raw += bytes.substr(sizeof header, header.payload_bytes);
    bytes.remove_prefix(sizeof header + header.payload_bytes);
  }
  return raw;
}

TEST(OpaqueReplyTest, PassesOnTheStartOfTheReplyThatWasHeldBack) {
  FakeNode node;
  const FakeNode::Wire link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv"));
  node.receive(link, frame_bytes({.kind = FrameKind::kCall,
                                  .flags = engine::kLastPiece,
                                  .replies = 1,
                                  .stream = 1,
                                  .call = 1},
                                 call_meta("get", 1) + "request"));
  const FakeNode::Wire server = node.reactor.wires.back();
  server->events->on_writable();
  const std::string reply("\x80\x01\x00\x02\x00\x00\x00\x03get\x00\x00\x00\x01\x00", 16);
  link->written.clear();
  node.receive(server, reply.substr(0, 9));  // its head is not complete
  EXPECT_THAT(kinds_in(link->written), testing::Not(testing::Contains(FrameKind::kReply)));
  node.receive(link, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}));
  node.receive(server, reply.substr(9));
  node.reactor.end_iteration();
  EXPECT_EQ(raw_bytes_in(link->written), reply);
}

}  // namespace
}  // namespace hat
