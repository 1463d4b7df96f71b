// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/served_times_test.cc: a reply says how long its call was at this host.
#include "engine/served_times.h"

#include <gmock/gmock.h>

#include "daemon/proxy/inbound/fake_pool.h"

namespace hat {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class ServedTimesTest : public PooledCallTest {
 protected:
  // Connects a peer of this link version in place of the earlier peer, and opens four streams.
  void peer_of(uint16_t link_version) {
    const auto hello = engine::encode(
        {.version_max = link_version, .generation = 42, .node = "host-c", .peer = "host-a"});
    link_ = node_.connect_link();
    node_.receive(link_, frame_bytes({.kind = engine::FrameKind::kHello},
                                     {reinterpret_cast<const char*>(hello.data()), hello.size()}));
    for (uint32_t stream = 1; stream <= 4; ++stream) {
      node_.receive(link_,
                    frame_bytes({.kind = engine::FrameKind::kOpen, .stream = stream}, "Pool"));
    }
    link_->written.clear();
    first_server_ = node_.reactor.wires.size();
  }
  // Makes a call that waits 60 ms for a connection, and then 20 ms for the server. Returns the
  // header of the first frame of its reply.
  engine::FrameHeader delayed_call() {
    call(1, 1, "get");
    call(2, 1, "get");
    server(0);
    server(1);
    call(3, 1, "get");
    node_.reactor.advance(60ms);
    reply(server(0));
    server(0);
    node_.reactor.advance(20ms);
    link_->written.clear();
    reply(server(0));
    for (const engine::FrameHeader& header : headers_in(link_->written)) {
      if (header.kind == engine::FrameKind::kReply && header.stream == 3) return header;
    }
    ADD_FAILURE() << "no reply came";
    return {};
  }
};

TEST_F(ServedTimesTest, AReplySaysHowLongItsCallWasHere) {
  const auto times = served_in(delayed_call());
  ASSERT_TRUE(times);
  EXPECT_EQ(times->total, 80ms - 80ms % 32us) << "11 bits of mantissa";
  EXPECT_EQ(times->waited, times->total / 8 * 6);
}

// Such daemons end the link if a frame has a flag that they do not know.
TEST_F(ServedTimesTest, APeerOfBeforeGetsNoTimes) {
  peer_of(engine::kLinkVersionOfTimes - 1);
  const engine::FrameHeader header = delayed_call();
  EXPECT_EQ(header.replies, 0);
  EXPECT_EQ(header.flags, engine::kLastPiece);
}

// The second reply waits here until the peer gives credit. The server is not to blame for this.
TEST_F(ServedTimesTest, ATimeInWhichThePeerTakesNoBytesDoesNotCount) {
  const std::string text = with_text(engine::kStreamWindowBytes);
  call(1, 1, "get");
  reply(server(), text);
  EXPECT_THAT(ends(), IsEmpty()) << "the reply is larger than the credit";
  call(1, 2, "get");
  const size_t first = strict_message(thrift::MessageType::kReply, "get", 7, text).size();
  give_credit(1, static_cast<uint32_t>(first - engine::kStreamWindowBytes));
  EXPECT_THAT(ends(), ElementsAre("1.1 ends"));
  node_.reactor.advance(10ms);
  reply(server());
  node_.reactor.advance(500ms);
  EXPECT_THAT(ends(), IsEmpty()) << "no credit is left";
  give_credit(1, 1000);
  const std::vector<engine::FrameHeader> headers = headers_in(link_->written);
  ASSERT_THAT(headers, SizeIs(1));
  ASSERT_TRUE(served_in(headers.front()));
  EXPECT_EQ(served_in(headers.front())->total, 10ms - 10ms % 8us);
}

}  // namespace
}  // namespace hat
