#include "daemon/client_connection.h"

#include <gmock/gmock.h>

#include "daemon/fake_node.h"

namespace hat {
namespace {

using engine::FrameKind;
using testing::HasSubstr;

// Framed binary: a call of `get`, with sequence id 1.
const std::string kGet("\x00\x00\x00\x10\x80\x01\x00\x01\x00\x00\x00\x03get\x00\x00\x00\x01\x00",
                       20);

class ClientConnectionTest : public testing::Test {
 protected:
  ClientConnectionTest() {
    node_.receive(peer_, hello_bytes("host-b", ""));
    client_ = node_.connect_client();
  }
  void answer(FrameKind kind, const std::string& payload, uint8_t flags = 0) {
    node_.receive(peer_,
                  frame_bytes({.kind = kind, .flags = flags, .stream = 1, .call = 1}, payload));
  }

  FakeNode node_;
  FakeNode::Wire peer_ = node_.peer_wire();
  FakeNode::Wire client_;
};

TEST_F(ClientConnectionTest, CarriesACallAndItsReply) {
  peer_->written.clear();
  node_.receive(client_, kGet);
  EXPECT_THAT(peer_->written, HasSubstr("get" + kGet));
  answer(FrameKind::kReply, "the reply", engine::kLastPiece);
  EXPECT_EQ(client_->written, "the reply");
}

TEST_F(ClientConnectionTest, EndsWhereThePeerSendsFarBeyondItsCredit) {
  const std::string piece(64'000, 'x');
  node_.receive(client_, kGet);
  client_->room = 0;
  answer(FrameKind::kReply, piece);
  size_t sent = piece.size();
  for (int i = 0; !client_->closed && i < 100; ++i) {
    answer(FrameKind::kMore, piece);
    sent += piece.size();
    node_.reactor.end_turn();
  }
  EXPECT_TRUE(client_->closed);
  EXPECT_TRUE(client_->aborted) << "a cut reply must not look like its end";
  EXPECT_GT(sent, engine::kStreamWindowBytes);
  EXPECT_LE(sent, engine::ReceiveWindow::kOutstandingBytesMax + piece.size());
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

}  // namespace
}  // namespace hat
