// SPDX-License-Identifier: Apache-2.0
// engine/rdma/landing_test.cc: READs into an application's memory (LaneEvents::landing_for()).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/rdma/lane_side.h"

namespace hat::engine {
namespace {

constexpr size_t kPiece = 5000;  // bytes; more than a SEND carries

class LandingTest : public testing::Test {
 protected:
  LandingTest() {
    RdmaLaneOptions options = options_for(*find("read_rndv"), *find("read_rndv"));
    join(client_, server_, options);
    server_.on_call = [this](const FrameHeader& header, Bytes payload) {
      arrived_.push_back({header.call, payload.data(), payload.size()});
    };
  }
  ~LandingTest() override { server_.lane.reset(); }  // before the memory into which it READs

  static const Protocol* find(std::string_view name) { return &protocol(*find_protocol(name)); }

  // Returns piece `n` of the server's application's memory.
  std::byte* piece(size_t n) const { return memory_.bytes().data() + n * kPiece; }
  void send(uint32_t stream, uint64_t call, size_t bytes = kPiece) {
    client_.lane->send({.kind = FrameKind::kCall,
                        .flags = kLastPiece,
                        .replies = 1,
                        .stream = stream,
                        .call = call},
                       {pattern(call, bytes)});
  }
  bool all_arrive(size_t count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (arrived_.size() < count && std::chrono::steady_clock::now() < end) {
      client_.iterate();
      server_.iterate();
    }
    for (const std::string& why : server_.down) ADD_FAILURE() << why;
    return arrived_.size() == count;
  }

  struct Arrived {
    uint64_t call;
    const std::byte* data;
    size_t bytes;
  };
  LaneSide client_{open_loop_fabric};
  LaneSide server_{open_loop_fabric};
  const SharedMemory memory_ = *SharedMemory::create("application", 16 * kPiece);
  const std::unique_ptr<MemoryRegion> region_ = *server_.fabric->register_own(memory_.bytes());
  std::vector<Arrived> arrived_;
};

TEST_F(LandingTest, PutsPayloadsWhereTheReceiverWants) {
  size_t landings = 0;
  server_.on_landing = [&](const FrameHeader& header, bool is_next) {
    EXPECT_TRUE(is_next);
    EXPECT_EQ(header.payload_bytes, kPiece);
    return Landing{piece(landings++), region_->lkey()};
  };
  for (uint64_t call = 1; call <= 8; ++call) send(1, call);
  ASSERT_TRUE(all_arrive(8));
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(arrived_[i].call, i + 1);
    ASSERT_EQ(arrived_[i].data, piece(i));
    EXPECT_TRUE(std::ranges::equal(std::span(piece(i), kPiece), pattern(i + 1, kPiece)));
  }
}

TEST_F(LandingTest, SaysWhetherAllEarlierBytesOfTheStreamHaveALanding) {
  std::vector<uint64_t> next;
  server_.on_landing = [&](const FrameHeader& header, bool is_next) {
    if (is_next) next.push_back(header.call);
    // The application of stream 1 has no space for call 2.
    return header.call == 2 || !is_next ? Landing{} : Landing{piece(header.call), region_->lkey()};
  };
  send(1, 1);
  send(1, 2);
  send(1, 3);  // call 2 of this stream waits in a buffer
  send(2, 4);
  send(2, 5, 0);  // arrives by a SEND, and waits for the calls before it
  send(2, 6);
  ASSERT_TRUE(all_arrive(6));
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(arrived_[i].call, i + 1);
  EXPECT_EQ(next, (std::vector<uint64_t>{1, 2, 4}));
  EXPECT_EQ(arrived_[3].data, piece(4));
  EXPECT_NE(arrived_[5].data, piece(6));
}

TEST_F(LandingTest, WaitsForEarlierFramesIfTheReceiverWants) {
  server_.on_landing = [&](const FrameHeader& header, bool is_next) {
    if (!is_next) return Landing{.later = true};
    // The first frame of each stream has no landing.
    return header.call % 10 == 0 ? Landing{} : Landing{piece(header.call % 10), region_->lkey()};
  };
  for (const uint64_t call : {10u, 11u, 12u}) send(1, call);
  for (const uint64_t call : {20u, 23u, 24u}) send(2, call);
  ASSERT_TRUE(all_arrive(6));
  for (const size_t i : {1u, 2u, 4u, 5u}) {
    EXPECT_EQ(arrived_[i].data, piece(arrived_[i].call % 10)) << arrived_[i].call;
  }
}

TEST_F(LandingTest, NeverAsksForMessagesThatThePeerWrites) {
  server_.lane.reset();
  client_.lane.reset();
  join(client_, server_, options_for(*find("write_rndv"), *find("write_rndv")));
  server_.on_landing = [&](const FrameHeader&, bool) {
    ADD_FAILURE() << "the peer would need the right to write to the application's memory";
    return Landing{};
  };
  for (uint64_t call = 1; call <= 8; ++call) send(1, call);
  EXPECT_TRUE(all_arrive(8));
}

}  // namespace
}  // namespace hat::engine
