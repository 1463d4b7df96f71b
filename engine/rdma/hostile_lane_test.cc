// SPDX-License-Identifier: Apache-2.0
// engine/rdma/hostile_lane_test.cc: tests a lane with a hostile peer: a peer that writes less than
// it announces, or that accesses memory after the lane has ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "engine/fabric/loop/fake_peer.h"
#include "engine/fabric/loop/loop_fabric.h"
#include "engine/rdma/lane_side.h"

namespace hat::engine {
namespace {

constexpr size_t kMessageBytes = 100'000;
constexpr FrameHeader kCallHeader{.payload_bytes = kMessageBytes,
                                  .kind = FrameKind::kCall,
                                  .flags = kLastPiece,
                                  .stream = 1,
                                  .call = 1};

RdmaLaneOptions by_rendezvous(Arena& arena) {
  const Protocol& protocol = engine::protocol(*find_protocol("write_rndv"));
  RdmaLaneOptions options = options_for(protocol, protocol);
  options.owner = arena.new_owner();
  return options;
}

// A queue pair with registered memory, but without a lane.
struct RawPeer {
  static constexpr size_t kMemoryBytes = 64 * 1024;

  RawPeer()
      : fabric(*open_loop_fabric()),
        memory(*SharedMemory::create("raw", kMemoryBytes)),
        region(*fabric->register_memory(memory, {.write = true, .read = true})),
        cq(*fabric->create_completion_queue(64)),
        srq(*fabric->create_receive_queue(16)),
        qp(*fabric->create_queue_pair({.send_cq = *cq,
                                       .recv_cq = *cq,
                                       .srq = *srq,
                                       .access = {.write = true, .read = true}})) {}
  Segment at(size_t offset, uint32_t bytes) const {
    return {region->bytes().data() + offset, bytes, region->lkey()};
  }
  void iterate() {
    while (fabric->next_event()) {
    }
    std::array<Completion, 16> done;
    received += cq->poll(done);
  }

  std::unique_ptr<Fabric> fabric;
  SharedMemory memory;
  std::unique_ptr<MemoryRegion> region;
  std::unique_ptr<CompletionQueue> cq;
  std::unique_ptr<ReceiveQueue> srq;
  std::unique_ptr<QueuePair> qp;
  size_t received = 0;
};

// Returns an offer in which each remote buffer is the whole memory of the peer.
LaneOffer offer_of(const RawPeer& side, const QueuePairAddress& address) {
  const RemoteBuffer all{side.region->address(), RawPeer::kMemoryBytes, side.region->rkey()};
  return {address, all, all, all, all, kMessageBytesMax};
}

// Makes the peer announce a message of kMessageBytes.
void announce(RawPeer& peer) {
  const Envelope announcement{
      .kind = ControlKind::kAnnounce, .leg = Leg::kWriteRndv, .frame = kCallHeader};
  std::memcpy(peer.region->bytes().data(), &announcement, sizeof announcement);
  const Segment announcement_segment = peer.at(0, sizeof announcement);
  const WorkRequest send{.opcode = Opcode::kSend, .segments = {&announcement_segment, 1}};
  ASSERT_EQ(peer.qp->post({&send, 1}), 1u);
}

// Makes the peer announce a message of kMessageBytes, WRITE only 16 bytes of the message, and then
// signal that the message is complete.
void announce_and_write_16(LaneSide& lanes, RawPeer& peer) {
  const auto iterate = [&](auto what) {
    for (int i = 0; i < 100 && !what(); ++i) {
      lanes.iterate();
      peer.iterate();
    }
    ASSERT_TRUE(what());
  };
  const Segment answer = peer.at(8192, kControlBytesMax);
  const ReceiveRequest receive{.segments = {&answer, 1}};
  ASSERT_EQ(peer.srq->post({&receive, 1}), 1u);
  announce(peer);
  iterate([&] { return peer.received != 0; });
  RemoteBuffer remote;
  std::memcpy(&remote, peer.region->bytes().data() + 8192 + sizeof(Envelope), sizeof remote);
  ASSERT_EQ(remote.bytes, kMessageBytes);
  const Segment first = peer.at(4096, 16);
  const WorkRequest write{.opcode = Opcode::kWriteImm,
                          .imm = imm_of(Leg::kWriteRndv, 0),
                          .segments = {&first, 1},
                          .remote_address = remote.address,
                          .rkey = remote.rkey};
  ASSERT_EQ(peer.qp->post({&write, 1}), 1u);
  iterate([&] { return !lanes.frames.empty(); });
}

TEST(HostileLane, WhoWritesLessThanItSaysIsDeliveredNothingOfOthers) {
  LaneSide victim(&open_loop_fabric);
  {
    LaneSide honest(&open_loop_fabric);
    const RdmaLaneOptions options = by_rendezvous(*victim.arena);
    join(honest, victim, options);
    honest.call(1, kMessageBytes, 0);
    for (int i = 0; i < 1000 && victim.frames.empty(); ++i) {
      honest.iterate();
      victim.iterate();
    }
    ASSERT_EQ(victim.frames.size(), 1u);
    ASSERT_EQ(victim.frames[0].payload, pattern(1, kMessageBytes));
    victim.frames.clear();
    victim.lane.reset();
    honest.lane.reset();
  }
  RawPeer peer;
  victim.make_lane(by_rendezvous(*victim.arena));
  ASSERT_TRUE(victim.lane->connect(offer_of(peer, peer.qp->address())));
  ASSERT_TRUE(peer.qp->connect(victim.lane->offer().queue_pair));
  std::ranges::fill(peer.region->bytes().subspan(4096, 16), std::byte{'x'});
  announce_and_write_16(victim, peer);
  ASSERT_EQ(victim.frames.size(), 1u);
  std::vector<std::byte> expected(kMessageBytes);
  std::fill_n(expected.begin(), 16, std::byte{'x'});
  EXPECT_TRUE(victim.frames[0].payload == expected);
  victim.lane.reset();
}

TEST(HostileLane, WhoAnnouncesMoreThanTheLaneAcceptsLosesIt) {
  LaneSide victim(&open_loop_fabric);
  RawPeer peer;
  RdmaLaneOptions options = by_rendezvous(*victim.arena);
  options.rendezvous.message_bytes_max = kMessageBytes - 1;
  victim.make_lane(options);
  EXPECT_EQ(victim.lane->offer().message_bytes_max, kMessageBytes - 1);
  ASSERT_TRUE(victim.lane->connect(offer_of(peer, peer.qp->address())));
  ASSERT_TRUE(peer.qp->connect(victim.lane->offer().queue_pair));
  const size_t registered = victim.arena->registered_bytes();
  announce(peer);
  for (int i = 0; i < 100 && victim.down.empty(); ++i) {
    victim.iterate();
    peer.iterate();
  }
  ASSERT_EQ(victim.down.size(), 1u);
  EXPECT_THAT(victim.down[0], testing::HasSubstr("announces a message that is not expected"));
  EXPECT_EQ(victim.arena->registered_bytes(), registered);
  victim.lane.reset();
}

TEST(HostileLane, WhoDoesNotLetGoKeepsTheLanesMemoryFromOthers) {
  LaneSide victim(&open_loop_fabric);
  const RawPeer memory;
  const size_t all = victim.arena->free_bytes(Purpose::kReceive);
  const auto end_one = [&](bool lets_go) {
    const Protocol& protocol = engine::protocol(*find_protocol("direct_write_imm"));
    victim.make_lane(options_for(protocol, protocol));
    ASSERT_TRUE(victim.lane->connect(offer_of(memory, loop::FakePeer::own_address())));
    loop::FakePeer peer(victim.lane->offer().queue_pair);
    victim.iterate();
    if (!lets_go) peer.to().touching.store(1);
    victim.poller->retire(std::move(victim.lane));
    victim.poller->forget_settled();
    EXPECT_TRUE(victim.poller->empty());
    EXPECT_EQ(victim.arena->free_bytes(Purpose::kReceive) == all, lets_go);
    peer.to().touching.store(0);
    victim.poller->forget_settled();
    EXPECT_EQ(victim.arena->free_bytes(Purpose::kReceive), all);
  };
  end_one(true);
  end_one(false);
  end_one(true);
}

}  // namespace
}  // namespace hat::engine
