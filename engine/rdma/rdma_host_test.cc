// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_host_test.cc: tests the legs of an RdmaHost, and that a process with a lane of
// one link is given no memory of another link. DomainConformance tests what holds for every fabric.
#include "engine/rdma/rdma_host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/fabric/fake_fabric.h"
#include "engine/fabric/loop/fake_peer.h"
#include "engine/fabric/loop/loop_fabric.h"
#include "engine/rdma/rdma_lane.h"
#include "tests/fake_reactor.h"

namespace hat::engine {
namespace {

constexpr size_t kBytes = 4096;
constexpr std::string_view kOfTheAttacker = "what the attacker's own lanes have";
constexpr std::string_view kOfTheVictim = "what the victim's lanes have";

class RdmaHosts : public testing::Test {
 protected:
  static constexpr RdmaDomainOptions kSmall{
      .arena = {.bytes = {64 << 10, 64 << 10, 64 << 10}}, .poller = {}, .spin = {}};
  std::unique_ptr<RdmaHost> make() {
    return std::move(*RdmaHost::create(reactor_, *open_loop_fabric(), kSmall));
  }
  FakeReactor reactor_;
};

// A loop fabric that reports lower limits, as some devices do.
class Limited final : public ForwardingFabric {
 public:
  using Change = void (*)(FabricLimits&);
  Limited(std::unique_ptr<Fabric> below, Change change)
      : ForwardingFabric(std::move(below)), change_(change) {}
  FabricLimits limits() const override {
    FabricLimits limits = below_->limits();
    change_(limits);
    return limits;
  }
  Result<std::unique_ptr<Fabric>> open_domain() override {
    HAT_TRY(auto domain, below_->open_domain());
    return std::make_unique<Limited>(std::move(domain), change_);
  }

 private:
  const Change change_;
};

TEST_F(RdmaHosts, HaveTheLegsThatTheirFabricCanPerform) {
  EXPECT_EQ(make()->legs(), kAllLegs);
  const auto host = std::move(*RdmaHost::create(
      reactor_,
      std::make_unique<Limited>(*open_loop_fabric(),
                                [](FabricLimits& limits) { limits.reads_max = 0; }),
      kSmall));
  constexpr uint32_t kReading = bit_of(Leg::kReadRndv) | bit_of(Leg::kFetch0) |
                                bit_of(Leg::kFetch1) | bit_of(Leg::kFetch2) | bit_of(Leg::kBitmap);
  EXPECT_EQ(host->legs(), kAllLegs & ~kReading);
}

TEST_F(RdmaHosts, RefuseALaneForWhichTheCompletionQueueHasNoSpace) {
  const auto host = std::move(*RdmaHost::create(
      reactor_,
      std::make_unique<Limited>(*open_loop_fabric(),
                                [](FabricLimits& limits) { limits.completion_entries_max = 600; }),
      {.arena = {.bytes = {1 << 20, 1 << 20, 1 << 20}},
       .poller = {.completions = 64},
       .spin = {}}));
  struct Nobody final : LaneEvents {
    void on_frame(const FrameHeader&, Bytes) override {}
    void on_down(const std::string&) override {}
  } nobody;
  const auto domain = *host->domain_for_link();
  const RdmaLaneOptions options{.out = {.slots = 4, .slot_bytes = 64},
                                .in = {.slots = 4, .slot_bytes = 64}};
  std::vector<std::unique_ptr<RdmaLane>> lanes;
  const auto add_lane = [&] {
    return RdmaLane::create(domain->poller(LaneClass::kLatency), options, nobody);
  };
  auto lane = add_lane();
  for (; lane; lane = add_lane()) lanes.push_back(std::move(*lane));
  EXPECT_EQ(lanes.size(), 3u) << "128 sends of each lane, and two or three blocks of 63 receives";
  EXPECT_TRUE(lane.error().message.starts_with(
      "RDMA lanes: a completion queue of the device has at most 600 entries, and"))
      << lane.error().message;
  lanes.pop_back();
  EXPECT_TRUE(add_lane()) << "an ended lane leaves its entries";
}

class TwoDomains : public RdmaHosts {
 protected:
  TwoDomains() {
    std::ranges::copy(std::as_bytes(std::span(kOfTheAttacker)), near_.bytes().begin());
    std::ranges::copy(std::as_bytes(std::span(kOfTheVictim)), far_.bytes().begin());
  }
  std::unique_ptr<QueuePair> queue_pair() {
    Poller& poller = attackers_->poller(LaneClass::kLatency);
    return std::move(*attackers_->fabric()->create_queue_pair({.send_cq = poller.completion_queue(),
                                                               .recv_cq = poller.completion_queue(),
                                                               .srq = poller.receive_queue()}));
  }

  std::unique_ptr<RdmaHost> host_ = make();
  std::shared_ptr<RdmaDomain> attackers_ = *host_->domain_for_link();
  std::shared_ptr<RdmaDomain> victims_ = *host_->domain_for_link();
  Buffer near_ = *attackers_->arena().take(Purpose::kReceive, kBytes);
  Buffer far_ = *victims_->arena().take(Purpose::kReceive, kBytes);
};

// The fake peer maps the memory of every descriptor that it receives, to find all memory that it
// can access.
TEST_F(TwoDomains, APeersProcessIsGivenNoMemoryOfOtherLinks) {
  const auto near = queue_pair();
  ASSERT_TRUE(near->connect(loop::FakePeer::own_address()));
  loop::FakePeer peer(near->address());
  host_->take_fabric_events();
  bool sees_own = false, sees_victims = false;
  size_t descriptors = 0;
  loop::ReceivedMessage got;
  while (peer.channel().receive(got) == loop::Channel::Got::kMessage) {
    for (Descriptor& fd : got.descriptors) {
      const auto memory = SharedMemory::map(std::move(fd));
      ++descriptors;
      if (!memory) continue;  // the descriptor is a doorbell, not memory
      const std::string_view all(reinterpret_cast<const char*>(memory->bytes().data()),
                                 memory->bytes().size());
      sees_own |= all.contains(kOfTheAttacker);
      sees_victims |= all.contains(kOfTheVictim);
    }
    got = {};
  }
  EXPECT_EQ(descriptors, 3 + Arena::kShares) << "its table, two doorbells, its arena";
  EXPECT_TRUE(sees_own);
  EXPECT_FALSE(sees_victims);
}

}  // namespace
}  // namespace hat::engine
