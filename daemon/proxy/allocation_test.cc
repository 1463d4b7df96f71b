// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/allocation_test.cc: tests that calls on RDMA lanes allocate no memory in the steady
// state, also not for copies of their frames.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "daemon/proxy/fake_pair.h"
#include "daemon/proxy/outbound/fake_peers.h"
#include "tests/counting_new.h"

namespace hat {
namespace {

using engine::FrameKind;

// Streams of one worker, each of which sends requests and gets its replies.
class ProxyAllocation : public testing::Test {
 protected:
  void make(size_t streams) {
    while (streams_.size() < streams) {
      streams_.push_back(std::make_unique<SentFrames>(*node_.worker));
    }
  }
  // Each stream sends requests of `bytes` bytes in all, and then each one gets its replies.
  void call(size_t bytes) {
    const std::string payload(bytes / kRequests - kFrameBytes, 'x');
    const auto request = std::as_bytes(std::span(payload));
    for (const auto& stream : streams_) {
      for (uint64_t i = 1; i <= kRequests; ++i) {
        stream->add({.kind = FrameKind::kCall, .stream = 1, .call = calls_ + i}, {request},
                    calls_ + i);
      }
      EXPECT_EQ(stream->count(), kRequests);
    }
    calls_ += kRequests;
    for (const auto& stream : streams_) stream->answered(calls_);
  }
  uint64_t allocations_of_a_round(size_t bytes) {
    for (int i = 0; i < 3; ++i) call(bytes);  // until each piece in reserve is large enough
    const uint64_t before = allocation_count();
    call(bytes);
    return allocation_count() - before - kOfThisTest;
  }

  static constexpr uint64_t kOfThisTest = 1;  // `payload`
  static constexpr uint64_t kRequests = 4;
  static constexpr size_t kFrameBytes = sizeof(engine::FrameHeader) + sizeof(uint64_t);
  uint64_t calls_ = 0;
  FakeNode node_;
  std::vector<std::unique_ptr<SentFrames>> streams_;
};

TEST_F(ProxyAllocation, NoneForCopiesIfTheMemoryOfAllStreamsFitsIntoTheReserve) {
  make(FrameBuffers::kReserveBytesMax / FrameBuffers::kBytesMin);
  EXPECT_EQ(allocations_of_a_round(FrameBuffers::kBytesMin), 0u);
}

TEST_F(ProxyAllocation, NoneForTheLargestCopies) {
  const size_t most = node_.worker->node().limits.retry_request_bytes_max;
  make(FrameBuffers::kReserveBytesMax / most);
  EXPECT_EQ(allocations_of_a_round(most), 0u);
}

TEST_F(ProxyAllocation, SomeForCopiesOfMoreStreams) {
  const size_t most = node_.worker->node().limits.retry_request_bytes_max;
  make(FrameBuffers::kReserveBytesMax / most + 10);
  EXPECT_GT(allocations_of_a_round(most), 0u);
}

TEST(ProxyAllocationOfCalls, NoneOnAnRdmaLane) {
  FunctionSpec get{.name = "get"};
  get.hints.both.protocol = "direct_write_imm";
  FakePair pair(get);
  const auto client = pair.connect_client();
  const std::string request = get_call(100);
  const std::string reply = get_reply(100);
  uint64_t allocations = 0;
  const auto counted = [&](const auto& daemon_runs) {
    const uint64_t before = allocation_count();
    daemon_runs();
    allocations += allocation_count() - before;
  };
  const auto call = [&] {
    for (const auto& [wire, bytes] :
         {std::pair(client, &request), std::pair(pair.server_connection(), &reply)}) {
      wire->incoming += *bytes;
      counted([&] {
        FakeNode::read(wire);
        pair.reactor().end_iteration();
        pair.reactor().end_iteration();
      });
    }
    EXPECT_EQ(pair.caller_link()->written, "") << "the lane carries the call";
    EXPECT_EQ(client->written, reply);
    EXPECT_EQ(pair.server_connection()->written, request);
    client->written.clear();  // keeps the memory
    pair.server_connection()->written.clear();
  };
  pair.call(client, request, reply);  // the lane is opened
  pair.call(client, request, reply);
  pair.server_connection()->written.clear();
  for (int i = 0; i < 100; ++i) call();
  allocations = 0;
  for (int i = 0; i < 100; ++i) call();
  EXPECT_EQ(allocations, 0u);
}

class ProxyAllocationOfSpreadCalls : public FakePeersTest {};

// Each call chooses one of three peers, and uses an idle stream if that is another one than before.
TEST_F(ProxyAllocationOfSpreadCalls, None) {
  const auto client = node_.connect_client();
  const std::string request = strict_message(thrift::MessageType::kCall, "get", 1);
  uint64_t allocations = 0;
  const auto takes = [&](const FakeNode::Wire& wire, const std::string& bytes) {
    wire->incoming += bytes;
    const uint64_t before = allocation_count();
    FakeNode::read(wire);
    node_.reactor.end_iteration();
    allocations += allocation_count() - before;
  };
  std::vector<int> by_link(links_.size());
  const auto call = [&] {
    client->written.clear();  // keeps the memory
    for (const auto& link : links_) link->written.clear();
    takes(client, request);
    for (size_t i = 0; i < links_.size(); ++i) {
      for (engine::FrameHeader header : headers_in(links_[i]->written)) {
        if (header.kind != FrameKind::kCall) continue;
        ++by_link[i];
        takes(links_[i], frame_bytes({.kind = FrameKind::kReply,
                                      .flags = engine::kLastPiece,
                                      .stream = header.stream,
                                      .call = header.call},
                                     "reply"));
      }
    }
    EXPECT_EQ(client->written, "reply");
  };
  for (int i = 0; i < 100; ++i) call();
  allocations = 0;
  by_link = std::vector<int>(links_.size());
  for (int i = 0; i < 100; ++i) call();
  EXPECT_EQ(allocations, 0u);
  for (const int calls : by_link) EXPECT_GT(calls, 10);
}

}  // namespace
}  // namespace hat
