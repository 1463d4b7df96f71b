#include "daemon/server_stream.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "daemon/fake_node.h"

namespace hat {
namespace {

using engine::FrameHeader;
using engine::FrameKind;

std::vector<FrameHeader> headers_in(std::string_view bytes) {
  std::vector<FrameHeader> headers;
  while (bytes.size() >= sizeof(FrameHeader)) {
    std::memcpy(&headers.emplace_back(), bytes.data(), sizeof(FrameHeader));
    bytes.remove_prefix(sizeof(FrameHeader) + headers.back().payload_bytes);
  }
  return headers;
}

// A peer's stream 1 for service Kv.
class ServerStreamTest : public testing::Test {
 protected:
  ServerStreamTest() {
    node_.receive(link_, hello_bytes("host-b", "host-a"));
    node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv"));
  }
  void call(uint64_t ordinal, const std::string& request) {
    const engine::CallMeta meta{.name_bytes = 3};
    node_.receive(
        link_, frame_bytes({.kind = FrameKind::kCall,
                            .flags = engine::kLastPiece,
                            .replies = 1,
                            .stream = 1,
                            .call = ordinal},
                           std::string(reinterpret_cast<const char*>(&meta), sizeof meta) + "get" +
                               request));
  }

  FakeNode node_;
  FakeNode::Wire link_ = node_.connect_link();
};

TEST_F(ServerStreamTest, GrantsTheBytesOfCallsThatTheServerNeverTook) {
  constexpr uint32_t kCalls = 20;
  const std::string request(60'000, 'x');
  link_->written.clear();
  for (uint64_t ordinal = 1; ordinal <= kCalls; ++ordinal) {
    call(ordinal, request);
    const auto server = node_.reactor.wires.back();
    server->error = ECONNREFUSED;
    server->events->on_writable();
    node_.reactor.end_turn();
  }
  uint64_t granted = 0;
  size_t failed = 0;
  for (const FrameHeader& header : headers_in(link_->written)) {
    granted += header.credit;
    failed += header.kind == FrameKind::kFail ? 1 : 0;
  }
  EXPECT_EQ(failed, kCalls);
  EXPECT_GE(granted + engine::kStreamWindowBytes / 2, kCalls * request.size())
      << "else the stream comes to a halt";
}

TEST_F(ServerStreamTest, EndsWhereThePeerSendsFarBeyondItsCredit) {
  constexpr size_t kPiece = 64'000;
  call(1, std::string(kPiece, 'x'));  // the server takes nothing of it
  link_->written.clear();
  size_t sent = kPiece;
  const auto was_reset = [&] {
    return std::ranges::any_of(headers_in(link_->written), [](const FrameHeader& header) {
      return header.kind == FrameKind::kReset;
    });
  };
  for (uint64_t ordinal = 2; !was_reset() && ordinal < 100; ++ordinal) {
    call(ordinal, std::string(kPiece, 'x'));
    sent += kPiece;
  }
  EXPECT_TRUE(was_reset());
  EXPECT_GT(sent, engine::kStreamWindowBytes);
  EXPECT_LE(sent, engine::ReceiveWindow::kOutstandingBytesMax + kPiece);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u) << "what was held went with the stream";
}

}  // namespace
}  // namespace hat
