// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/domain_conformance.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/rdma/lane_side.h"

namespace hat::engine {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DomainConformance);

namespace {

constexpr RemoteAccess kEveryRight{.write = true, .read = true, .atomic = true};
constexpr uint32_t kBytes = 64;

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

// The memory of one domain: a buffer of each part of its arena, and an application's ring that the
// domain has registered.
struct Memory {
  explicit Memory(RdmaDomain& domain, char text) : fabric(domain.fabric()) {
    for (const Purpose purpose : {Purpose::kReceive, Purpose::kSend, Purpose::kControl}) {
      buffers.push_back(*domain.arena().take(purpose, Arena::kGranuleBytes));
      pieces.push_back({buffers.back().bytes(), buffers.back().rkey()});
    }
    // A peer can guess the local key of a ring; on some devices, local and remote keys are equal.
    pieces.push_back({ring.bytes(), ring_region->lkey()});
    for (const Piece& piece : pieces) std::ranges::fill(piece.bytes, std::byte(text));
  }
  bool holds_only(char text) const {
    return std::ranges::all_of(pieces, [text](const Piece& piece) {
      return std::ranges::all_of(piece.bytes,
                                 [text](std::byte byte) { return byte == std::byte(text); });
    });
  }

  struct Piece {
    std::span<std::byte> bytes;
    uint32_t key;
    uint64_t address() const { return reinterpret_cast<uint64_t>(bytes.data()); }
  };
  std::shared_ptr<Fabric> fabric;
  std::vector<Buffer> buffers;
  SharedMemory ring = value_of(SharedMemory::create("ring", Arena::kGranuleBytes));
  std::unique_ptr<MemoryRegion> ring_region = value_of(fabric->register_own(ring.bytes()));
  std::vector<Piece> pieces;
};

// A peer that posts any request, over a queue pair that is connected to a queue pair of a domain.
struct Attacker {
  explicit Attacker(const OpenFabric& open)
      : fabric(value_of(open())),
        region(value_of(fabric->register_memory(memory, kEveryRight))),
        cq(value_of(fabric->create_completion_queue(16))),
        srq(value_of(fabric->create_receive_queue(16))) {}

  void connect(RdmaDomain& domain) {
    qp.reset();
    near.reset();
    CompletionQueue& hosts = domain.poller(LaneClass::kLatency).completion_queue();
    near = value_of(domain.fabric()->create_queue_pair(
        {.send_cq = hosts,
         .recv_cq = hosts,
         .srq = domain.poller(LaneClass::kLatency).receive_queue(),
         .access = kEveryRight}));
    qp = value_of(fabric->create_queue_pair(
        {.send_cq = *cq, .recv_cq = *cq, .srq = *srq, .access = kEveryRight}));
    ASSERT_TRUE(qp->connect(near->address()));
    ASSERT_TRUE(near->connect(qp->address()));
  }
  // Connects to the queue pair of a lane of the host.
  void connect(RdmaLane& lane) {
    qp = value_of(fabric->create_queue_pair(
        {.send_cq = *cq, .recv_cq = *cq, .srq = *srq, .access = kEveryRight}));
    const RemoteBuffer enough{region->address(), 1 << 20, region->rkey()};
    ASSERT_TRUE(lane.connect({qp->address(), enough, enough, enough, enough, kMessageBytesMax}));
    ASSERT_TRUE(qp->connect(lane.offer().queue_pair));
  }
  // Keeps kFlood SENDs outstanding, each of which is a credit message of a lane.
  void flood() {
    const Envelope credit{.kind = ControlKind::kCredit};
    std::ranges::copy(std::as_bytes(std::span(&credit, 1)), memory.bytes().begin());
    const Segment local{memory.bytes().data(), sizeof credit, region->lkey()};
    const WorkRequest work{.opcode = Opcode::kSend, .segments = {&local, 1}};
    for (; sent < completed + kFlood; ++sent) ASSERT_EQ(qp->post({&work, 1}), 1u);
  }
  void post(Opcode opcode, uint64_t address, uint32_t key) {
    std::ranges::fill(memory.bytes(), std::byte{'a'});
    const uint32_t bytes = opcode == Opcode::kFetchAdd ? 8 : kBytes;
    const Segment local{memory.bytes().data(), bytes, region->lkey()};
    const WorkRequest work{.opcode = opcode,
                           .segments = {&local, 1},
                           .remote_address = address,
                           .rkey = key,
                           .compare_or_add = 1};
    ASSERT_EQ(qp->post({&work, 1}), 1u);
    done.reset();
  }
  void iterate() {
    while (fabric->next_event()) {
    }
    std::array<Completion, 1> some;
    if (cq->poll(some) == 0) return;
    done = some[0].status;
    ++completed;
  }
  bool has_read() const {
    return std::ranges::any_of(memory.bytes(),
                               [](std::byte byte) { return byte != std::byte{'a'}; });
  }

  std::unique_ptr<Fabric> fabric;
  SharedMemory memory = value_of(SharedMemory::create("attacker", kBytes));
  std::unique_ptr<MemoryRegion> region;
  std::unique_ptr<CompletionQueue> cq;
  std::unique_ptr<ReceiveQueue> srq;
  std::unique_ptr<QueuePair> near;  // the host's queue pair
  std::unique_ptr<QueuePair> qp;
  std::optional<Status> done;
  static constexpr size_t kFlood = 16;
  size_t sent = 0;  // by flood()
  size_t completed = 0;
};

// The host's side of an honest peer's lane: answers each call with its payload.
struct Echo final : LaneEvents {
  void on_frame(const FrameHeader& header, Bytes payload) override {
    lane->send({.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = header.call},
               {payload});
  }
  void on_down(const std::string& reason) override { down = reason; }
  std::unique_ptr<RdmaLane> lane;
  std::string down;
};

}  // namespace

DomainConformance::DomainConformance()
    : host_(value_of(RdmaHost::create(reactor_, value_of(GetParam()()), kOptions))) {}

bool DomainConformance::until(const std::function<bool()>& holds,
                              const std::function<void()>& other) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    other();
    host_->take_fabric_events();
    reactor_.end_iteration();
  }
  return true;
}

TEST_P(DomainConformance, EachLinkHasADomainOfItsOwn) {
  EXPECT_TRUE(host_->domains().empty());
  auto one = *host_->domain_for_link(), another = *host_->domain_for_link();
  EXPECT_NE(one, another);
  EXPECT_NE(one->fabric(), another->fabric());
  EXPECT_EQ(host_->domains().size(), 2u);
  EXPECT_EQ(host_->reach(), another->fabric()->reach());
  const std::weak_ptr<RdmaDomain> gone = one;
  one.reset();
  reactor_.end_iteration();
  EXPECT_TRUE(gone.expired()) << "a link without lanes keeps no memory";
  EXPECT_EQ(host_->domains().size(), 1u);
}

TEST_P(DomainConformance, FurtherLinksHaveNoDomain) {
  constexpr size_t kSmall = 16 << 10;
  RdmaDomainOptions options = kOptions;
  options.arena.bytes = {kSmall, kSmall, kSmall};
  host_ = *RdmaHost::create(reactor_, *GetParam()(), options);
  std::vector<std::shared_ptr<RdmaDomain>> links;
  for (size_t i = 0; i < RdmaHost::kDomainsMax; ++i) links.push_back(*host_->domain_for_link());
  const auto one_more = host_->domain_for_link();
  ASSERT_FALSE(one_more);
  EXPECT_EQ(
      one_more.error().message,
      "at most 128 of all links of this worker may have RDMA lanes, and 128 have them: use more "
      "workers");
  links.pop_back();
  reactor_.end_iteration();
  EXPECT_TRUE(host_->domain_for_link());
}

TEST_P(DomainConformance, APeerReachesNoMemoryOfAnotherDomain) {
  const auto attackers = *host_->domain_for_link(), victims = *host_->domain_for_link();
  const Memory own(*attackers, 'o'), foreign(*victims, 'f');
  Attacker attacker(GetParam());
  const auto ends = [&](Opcode opcode, uint64_t address, uint32_t key) {
    attacker.connect(*attackers);
    attacker.post(opcode, address, key);
    EXPECT_TRUE(until([&] { return attacker.done.has_value(); }, [&] { attacker.iterate(); }));
    return attacker.done.value_or(Status::kOther);
  };
  for (size_t part = 0; part < own.pieces.size(); ++part) {
    const Memory::Piece& near = own.pieces[part];
    const Memory::Piece& far = foreign.pieces[part];
    for (const Opcode opcode : {Opcode::kWrite, Opcode::kRead, Opcode::kFetchAdd}) {
      SCOPED_TRACE("part " + std::to_string(part) + ", opcode " +
                   std::to_string(static_cast<int>(opcode)));
      EXPECT_EQ(ends(opcode, far.address(), near.key), Status::kRemoteAccess) << "its own key";
      EXPECT_FALSE(attacker.has_read() && opcode == Opcode::kRead);
      EXPECT_EQ(ends(opcode, far.address(), far.key), Status::kRemoteAccess) << "the victim's key";
      EXPECT_FALSE(attacker.has_read() && opcode == Opcode::kRead);
      const bool permitted =
          (part == static_cast<size_t>(Purpose::kReceive) && opcode == Opcode::kWrite) ||
          (part == static_cast<size_t>(Purpose::kSend) && opcode == Opcode::kRead);
      EXPECT_EQ(ends(opcode, near.address(), near.key),
                permitted ? Status::kSuccess : Status::kRemoteAccess)
          << "its own memory";
    }
  }
  EXPECT_TRUE(foreign.holds_only('f'));
}

// The completions of the attacker and of the honest peer can come from the same completion queue.
TEST_P(DomainConformance, AnotherPeersLaneWorksDuringAnAttack) {
  const auto attackers = *host_->domain_for_link(), victims = *host_->domain_for_link();
  const Memory own(*attackers, 'o'), foreign(*victims, 'f');
  LaneSide honest(GetParam());
  Attacker attacker([&] { return honest.fabric->open_domain(); });
  const Protocol& protocol = engine::protocol(*find_protocol("direct_write_imm"));
  RdmaLaneOptions options = options_for(protocol, protocol);
  Echo echo;
  honest.make_lane(options);
  std::swap(options.out, options.in);
  echo.lane = *RdmaLane::create(victims->poller(LaneClass::kLatency), options, echo);
  ASSERT_TRUE(honest.lane->connect(echo.lane->offer()));
  ASSERT_TRUE(echo.lane->connect(honest.lane->offer()));
  for (uint64_t call = 1; call <= 20; ++call) {
    attacker.connect(*attackers);
    attacker.post(Opcode::kWrite, foreign.pieces[0].address(), foreign.pieces[0].key);
    honest.call(call, 500);
    ASSERT_TRUE(until([&] { return attacker.done && honest.frames.size() == call; },
                      [&] {
                        attacker.iterate();
                        honest.iterate();
                        echo.lane->flush();
                      }));
    EXPECT_EQ(*attacker.done, Status::kRemoteAccess);
    EXPECT_TRUE(honest.frames.back().payload == pattern(call, 500));
  }
  EXPECT_EQ(echo.down, "");
  EXPECT_TRUE(foreign.holds_only('f'));
  echo.lane.reset();
}

// The completions of both lanes can come from the same completion queue, but each SEND uses a
// receive of its own link.
TEST_P(DomainConformance, AnotherPeersLaneWorksWhileALaneIsFlooded) {
  const auto attackers = *host_->domain_for_link(), victims = *host_->domain_for_link();
  LaneSide honest(GetParam());
  Attacker attacker([&] { return honest.fabric->open_domain(); });
  const Protocol& protocol = engine::protocol(*find_protocol("eager"));
  RdmaLaneOptions options = options_for(protocol, protocol);
  Echo echo, flooded;
  honest.make_lane(options);
  std::swap(options.out, options.in);
  echo.lane = *RdmaLane::create(victims->poller(LaneClass::kLatency), options, echo);
  flooded.lane = *RdmaLane::create(attackers->poller(LaneClass::kLatency), options, flooded);
  ASSERT_TRUE(honest.lane->connect(echo.lane->offer()));
  ASSERT_TRUE(echo.lane->connect(honest.lane->offer()));
  attacker.connect(*flooded.lane);
  for (uint64_t call = 1; call <= 20; ++call) {
    honest.call(call, 500);
    ASSERT_TRUE(
        until([&] { return attacker.completed >= 20 * call && honest.frames.size() == call; },
              [&] {
                attacker.flood();
                attacker.iterate();
                honest.iterate();
                echo.lane->flush();
                flooded.lane->flush();
              }));
    ASSERT_EQ(*attacker.done, Status::kSuccess);
    EXPECT_TRUE(honest.frames.back().payload == pattern(call, 500));
  }
  EXPECT_EQ(echo.down, "");
  EXPECT_EQ(flooded.down, "") << "a peer may send any number of credits";
  for (const auto& domain : {attackers, victims}) {
    EXPECT_EQ(domain->poller(LaneClass::kLatency).receives_in_use(), 0u);
  }
  echo.lane.reset();
  flooded.lane.reset();
}

}  // namespace hat::engine
