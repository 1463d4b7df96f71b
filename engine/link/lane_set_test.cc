// SPDX-License-Identifier: Apache-2.0
// engine/link/lane_set_test.cc: tests the frames that create RDMA lanes (RDMA connections between
// two daemons), and refusals of lanes. daemon/process/rdma_link_conformance.cc tests lanes that
// carry calls.
#include "engine/link/lane_set.h"

#include <gmock/gmock.h>

#include <chrono>
#include <functional>

#include "engine/fabric/loop/fake_peer.h"
#include "engine/fabric/loop/loop_fabric.h"
#include "tests/fake_reactor.h"

namespace hat::engine {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(LaneMessages, ReadWhatTheyWrite) {
  const LaneOpen open{{LaneClass::kLatency, {Leg::kBitmap, Leg::kReadRndv, 8, 100}, {}}, "loop x"};
  const auto back = decode_lane_open(encode(open));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->reach, "loop x");
  EXPECT_EQ(back->wish.lanes, LaneClass::kLatency);
  EXPECT_EQ(back->wish.out.leg, Leg::kBitmap);
  EXPECT_EQ(back->wish.out.slot_bytes, 100u);
  LaneAccept accept;
  accept.offer.window = {1, 2, 3};
  const auto accepted = decode_lane_accept(encode(accept));
  ASSERT_TRUE(accepted) << accepted.error().message;
  EXPECT_EQ(accepted->offer.window.rkey, 3u);
}

TEST(LaneMessages, RefuseEveryTruncationAndExtension) {
  const auto check = [](const std::vector<std::byte>& bytes, auto decode) {
    for (size_t count = 0; count < bytes.size(); ++count) {
      EXPECT_FALSE(decode(Bytes(bytes).first(count))) << count;
    }
    EXPECT_TRUE(decode(bytes));
    std::vector<std::byte> longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decode(longer));
  };
  check(encode(LaneOpen{{}, "loop x"}), [](Bytes bytes) { return decode_lane_open(bytes); });
  check(encode(LaneAccept{}), [](Bytes bytes) { return decode_lane_accept(bytes); });
  check(encode(LaneOffer{}), [](Bytes bytes) { return decode_lane_offer(bytes); });
}

// Stands for the TCP connection of a session, on which a LaneSet sends its frames.
struct Control final : Lane {
  uint64_t send(FrameHeader header, std::initializer_list<Bytes> pieces) override {
    std::string payload;
    for (const Bytes piece : pieces) {
      payload.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    sent.emplace_back(header, payload);
    return sent.size();
  }
  Fate fate(uint64_t) const override { return Fate::kUnknown; }
  bool congested() const override { return false; }
  bool broken() const override { return false; }
  bool idle() const override { return true; }
  void flush() override {}
  std::vector<std::pair<FrameHeader, std::string>> sent;
};

class LaneSets : public testing::Test, public LaneSetEvents {
 protected:
  LaneSets() {
    host_ = std::move(*RdmaHost::create(reactor_, *open_loop_fabric(),
                                        {.arena = {.bytes = {1 << 20, 1 << 20, 2 << 20}}}));
  }
  LaneSet& make(Session::Role role) {
    set_ = std::make_unique<LaneSet>(reactor_, *host_, role, control_,
                                     LaneSetOptions{.lanes_max = 2}, *this);
    return *set_;
  }
  void say(FrameKind kind, uint32_t lane, const std::vector<std::byte>& payload = {}) {
    set_->on_lane_frame({.kind = kind, .stream = lane}, payload);
  }
  std::vector<std::byte> open_bytes(const std::string& reach) {
    return encode(LaneOpen{{.out = {.slots = 4, .slot_bytes = 64}}, reach});
  }
  // Makes a lane whose other side is a peer of the test. Returns this peer.
  std::unique_ptr<loop::FakePeer> make_up_lane(uint32_t lane) {
    say(FrameKind::kLaneOpen, lane, open_bytes(host_->reach()));
    const auto accepted = decode_lane_accept(std::as_bytes(std::span(last_words())));
    EXPECT_TRUE(accepted) << last_words();
    const RemoteBuffer enough{.address = 4096, .bytes = 1 << 20, .rkey = 1};
    const LaneOffer offer{
        .queue_pair = loop::FakePeer::own_address(), .slots = enough, .window = enough};
    say(FrameKind::kLaneReady, lane, encode(offer));
    EXPECT_EQ(last_kind(), FrameKind::kLaneUp);
    auto peer = std::make_unique<loop::FakePeer>(accepted->offer.queue_pair);
    host_->take_fabric_events();
    return peer;
  }
  const std::string& last_words() { return control_.sent.back().second; }
  FrameKind last_kind() { return control_.sent.back().first.kind; }

  Result<LaneShape> on_lane_wanted(const LaneWish&) override {
    if (refuses_) return fail(ErrorCode::kExhausted, "no plan answers so");
    return LaneShape{.slots = 4, .slot_bytes = 64};
  }
  std::shared_ptr<RdmaBudget> budget_of_domain(LaneSet&) override {
    ++domains_wanted_;
    return budget_;
  }
  void on_domain_gone(LaneSet&) override { ++domains_gone_; }
  void on_lane_refused(LaneSet&, const std::string& reason) override { refused_.push_back(reason); }
  void on_lane_up(LaneSet&, uint32_t lane) override { up_.push_back(lane); }
  void on_lane_message(LaneSet&, uint32_t, const FrameHeader&, Bytes, Leg) override {}
  void on_lane_down(LaneSet&, uint32_t, bool, const std::string& why) override {
    down_.push_back(why);
  }

  FakeReactor reactor_;
  Control control_;
  std::unique_ptr<RdmaHost> host_;
  std::unique_ptr<LaneSet> set_;
  bool refuses_ = false;
  int domains_wanted_ = 0;
  int domains_gone_ = 0;
  std::shared_ptr<RdmaBudget> budget_;
  std::vector<std::string> refused_;
  std::vector<uint32_t> up_;
  std::vector<std::string> down_;
};

TEST_F(LaneSets, AnAcceptorRefusesInWords) {
  make(Session::Role::kAcceptor);
  const std::string here = host_->reach();
  say(FrameKind::kLaneOpen, 1, open_bytes("loop of another host"));
  EXPECT_EQ(last_kind(), FrameKind::kLaneClose);
  EXPECT_EQ(last_words(),
            "the fabrics do not reach each other: 'loop of another host' and '" + here + "'");
  say(FrameKind::kLaneOpen, 2, {std::byte{1}});
  EXPECT_THAT(last_words(), HasSubstr("too short"));
  refuses_ = true;
  say(FrameKind::kLaneOpen, 3, open_bytes(here));
  EXPECT_EQ(last_words(), "no plan answers so");
  EXPECT_EQ(refused_.size(), 3u);
  EXPECT_EQ(refused_.back(), "no plan answers so");
  refuses_ = false;
  say(FrameKind::kLaneOpen, 4, open_bytes(here));
  EXPECT_EQ(last_kind(), FrameKind::kLaneAccept);
  say(FrameKind::kLaneOpen, 4, open_bytes(here));
  EXPECT_EQ(last_kind(), FrameKind::kLaneClose);
  say(FrameKind::kLaneOpen, 5, open_bytes(here));
  EXPECT_EQ(last_kind(), FrameKind::kLaneAccept);
  say(FrameKind::kLaneOpen, 6, open_bytes(here));
  EXPECT_THAT(last_words(), HasSubstr("this link already has 2 lanes"));
  EXPECT_EQ(set_->size(), 2u);
  EXPECT_TRUE(down_.empty()) << "nobody was told of them";
}

TEST_F(LaneSets, WhatComesOutOfOrderEndsTheLaneAlone) {
  make(Session::Role::kAcceptor);
  say(FrameKind::kLaneOpen, 1, open_bytes(host_->reach()));
  say(FrameKind::kLaneUp, 1);
  EXPECT_EQ(last_kind(), FrameKind::kLaneClose);
  EXPECT_EQ(set_->size(), 0u);
  say(FrameKind::kLaneReady, 7);  // a lane that does not exist
  EXPECT_EQ(control_.sent.size(), 2u);
}

TEST_F(LaneSets, AnInitiatorGivesUpWhatIsNotAnswered) {
  LaneSet& set = make(Session::Role::kInitiator);
  const uint32_t lane = set.open({});
  EXPECT_EQ(last_kind(), FrameKind::kLaneOpen);
  EXPECT_EQ(set.lane(lane), nullptr);
  reactor_.advance(3s);
  ASSERT_EQ(down_.size(), 1u);
  EXPECT_EQ(down_[0], "the RDMA lane was not up within its time-out");
  EXPECT_EQ(last_kind(), FrameKind::kLaneClose);
  say(FrameKind::kLaneOpen, 9, open_bytes("x"));
  EXPECT_EQ(last_words(), "this node opens the lanes of this link, or the lane's number is in use");
}

TEST_F(LaneSets, ThePeersReasonIsPrintableText) {
  LaneSet& set = make(Session::Role::kInitiator);
  const uint32_t lane = set.open({});
  constexpr std::string_view kWhy = "no\r\x1b]0;title\a";
  const auto bytes = std::as_bytes(std::span(kWhy));
  say(FrameKind::kLaneClose, lane, {bytes.begin(), bytes.end()});
  EXPECT_THAT(down_, testing::ElementsAre("the peer: no??]0;title?"));
}

TEST_F(LaneSets, TheEndOfTheLinkIsTheEndOfAll) {
  LaneSet& set = make(Session::Role::kInitiator);
  set.open({});
  set.open({});
  set.end("the peer closed the link");
  EXPECT_EQ(down_, (std::vector<std::string>(2, "the peer closed the link")));
  EXPECT_EQ(set.size(), 0u);
  EXPECT_EQ(control_.sent.size(), 2u) << "nothing is said on a link that is down";
}

TEST_F(LaneSets, RefusesALaneForWhichNoDomainIsLeft) {
  std::vector<std::shared_ptr<RdmaDomain>> other_links;
  while (auto domain = host_->domain_for_link()) other_links.push_back(std::move(*domain));
  make(Session::Role::kAcceptor);
  say(FrameKind::kLaneOpen, 1, open_bytes(host_->reach()));
  EXPECT_EQ(last_kind(), FrameKind::kLaneClose);
  EXPECT_EQ(
      last_words(),
      "at most 128 of all links of this worker may have RDMA lanes, and 128 have them: use more "
      "workers");
  set_->flush();
  other_links.pop_back();
  reactor_.end_iteration();
  say(FrameKind::kLaneOpen, 2, open_bytes(host_->reach()));
  EXPECT_THAT(last_words(), HasSubstr("at most 128")) << "the set does not ask again at once";
  EXPECT_EQ(domains_wanted_, 1);
  set_->flush();
  reactor_.advance(1s);
  say(FrameKind::kLaneOpen, 3, open_bytes(host_->reach()));
  EXPECT_EQ(last_kind(), FrameKind::kLaneAccept) << "another link has ended";
  say(FrameKind::kLaneOpen, 4, open_bytes(host_->reach()));
  EXPECT_EQ(last_kind(), FrameKind::kLaneAccept);
  EXPECT_EQ(domains_wanted_, 2) << "all lanes of the set share one";
  EXPECT_EQ(domains_gone_, 0);
  set_->end("the link has ended");
  set_->flush();
  EXPECT_EQ(domains_gone_, 1);
}

TEST_F(LaneSets, HaveNoMoreMemoryThanTheirBudget) {
  make(Session::Role::kAcceptor);
  constexpr auto kNone = RdmaBudget::kUnlimited;
  budget_ = std::make_shared<RdmaBudget>("the links of one peer",
                                         RdmaBudget::Amounts{7 << 20, kNone, kNone, kNone});
  const auto another = *host_->domain_for_link(budget_);
  say(FrameKind::kLaneOpen, 1, open_bytes(host_->reach()));
  EXPECT_EQ(last_words(),
            "the links of one peer may have 7 MiB of RDMA memory, of which 4 MiB are in use, and 4 "
            "MiB more are needed: use more workers");
  EXPECT_EQ(host_->domains().size(), 1u);
  EXPECT_EQ(budget_->used(Resource::kMemory), 4u << 20) << "nothing is left of the attempt";
}

// A peer whose lanes have used up the peer's part of the completion queue leaves the other parts.
TEST_F(LaneSets, HaveNoMoreCompletionsThanTheirBudget) {
  make(Session::Role::kAcceptor);
  constexpr auto kNone = RdmaBudget::kUnlimited;
  budget_ = std::make_shared<RdmaBudget>("the links of one peer",
                                         RdmaBudget::Amounts{kNone, kNone, kNone, 300});
  say(FrameKind::kLaneOpen, 1, open_bytes(host_->reach()));
  EXPECT_EQ(last_kind(), FrameKind::kLaneAccept);
  const uint64_t used = budget_->used(Resource::kThroughputEntries);
  EXPECT_EQ(used, 128u + 2 * Poller::kReceivesPerBlock) << "sends and receives";
  EXPECT_EQ(budget_->used(Resource::kLatencyEntries), 0u);
  say(FrameKind::kLaneOpen, 2, open_bytes(host_->reach()));
  EXPECT_THAT(last_words(), HasSubstr("the links of one peer may have 300 entries of a completion "
                                      "queue for RDMA lanes, of which"));
  set_->end("the link has ended");
  set_.reset();
  reactor_.end_iteration();
  for (size_t i = 0; i < kResources; ++i) EXPECT_EQ(budget_->used(Resource(i)), 0u) << i;
}

TEST_F(LaneSets, KeepTheirDomainForAWhileWithoutALane) {
  make(Session::Role::kAcceptor);
  const auto turn = [&] {
    set_->flush();
    reactor_.end_iteration();
  };
  std::weak_ptr<RdmaDomain> first;
  for (uint32_t lane = 1; lane <= 10; ++lane) {
    say(FrameKind::kLaneOpen, lane, open_bytes(host_->reach()));
    ASSERT_EQ(last_kind(), FrameKind::kLaneAccept);
    if (lane == 1) first = host_->domains().front();
    EXPECT_EQ(host_->domains().front(), first.lock()) << lane;
    say(FrameKind::kLaneClose, lane);
    turn();
    reactor_.advance(4s);
    turn();
  }
  EXPECT_EQ(domains_gone_, 0);
  reactor_.advance(1s);
  turn();
  EXPECT_TRUE(first.expired());
  EXPECT_EQ(domains_gone_, 1);
}

TEST_F(LaneSets, ReleaseADomainThatHasFailedAtOnce) {
  make(Session::Role::kAcceptor);
  for (const LaneClass lanes : {LaneClass::kLatency, LaneClass::kThroughput}) {
    const LaneWish wish{.lanes = lanes, .out = {.slots = 4, .slot_bytes = 64}};
    say(FrameKind::kLaneOpen, 10 + static_cast<uint32_t>(lanes),
        encode(LaneOpen{wish, host_->reach()}));
    ASSERT_EQ(last_kind(), FrameKind::kLaneAccept);
  }
  host_->domains().front()->poller(LaneClass::kLatency).on_receive_queue_error("a test");
  EXPECT_EQ(last_words(), "the receive queue failed: a test");
  EXPECT_EQ(set_->size(), 1u) << "the lane of the other class";
  set_->flush();
  EXPECT_EQ(last_words(), "the receive queue of the link's RDMA lanes has failed");
  EXPECT_EQ(set_->size(), 0u);
  set_->flush();
  reactor_.end_iteration();
  EXPECT_TRUE(host_->domains().empty());
  say(FrameKind::kLaneOpen, 2, open_bytes(host_->reach()));
  EXPECT_EQ(last_kind(), FrameKind::kLaneAccept) << "the next domain works";
}

TEST_F(LaneSets, AskForMemoryAgainAfterARefusal) {
  host_ = *RdmaHost::create(reactor_, *open_loop_fabric(),
                            {.arena = {.bytes = {4 << 20, 4 << 20, 2 << 20}, .step = 512 << 10}});
  make(Session::Role::kAcceptor);
  say(FrameKind::kLaneOpen, 1, open_bytes(host_->reach()));
  ASSERT_EQ(last_kind(), FrameKind::kLaneAccept);
  RdmaDomain& domain = *host_->domains().front();
  const SharedMemory memory = *SharedMemory::create("other", 4096);
  std::vector<std::unique_ptr<MemoryRegion>> others;  // uses up the regions of the fabric
  while (auto region = domain.fabric()->register_memory(memory, {}))
    others.push_back(std::move(*region));
  const auto fits = [&] {
    return domain.arena().take_message(Purpose::kSend, 1 << 20).has_value();
  };
  EXPECT_FALSE(fits());
  others.clear();
  EXPECT_FALSE(fits()) << "at once";
  reactor_.advance(2s);
  EXPECT_TRUE(fits());
}

// On the loop fabric, the peer's process can be stopped while it accesses the memory of an ended
// lane. This memory then cannot be given to anybody else, and must not multiply.
TEST_F(LaneSets, KeepTheirDomainWhileThePeerCanAccessIt) {
  make(Session::Role::kAcceptor);
  const auto peer = make_up_lane(1);
  peer->to().touching.store(1);
  say(FrameKind::kLaneClose, 1);
  const auto pass_time = [&] {
    set_->flush();
    reactor_.advance(10s);
    set_->flush();
    reactor_.end_iteration();
  };
  pass_time();
  EXPECT_EQ(host_->domains().size(), 1u);
  say(FrameKind::kLaneOpen, 2, open_bytes(host_->reach()));
  EXPECT_EQ(last_kind(), FrameKind::kLaneAccept);
  EXPECT_EQ(host_->domains().size(), 1u) << "the new lane uses the same domain";
  say(FrameKind::kLaneClose, 2);
  peer->to().touching.store(0);
  host_->take_fabric_events();
  pass_time();
  EXPECT_TRUE(host_->domains().empty());
  EXPECT_EQ(domains_gone_, 1);
}

TEST_F(LaneSets, CountTheirDomainAfterTheirEndWhileThePeerCanAccessIt) {
  make(Session::Role::kAcceptor);
  budget_ = std::make_shared<RdmaBudget>("the links of one peer", 64, host_->budget());
  EXPECT_EQ(budget_->most(Resource::kDomains), 2u);
  std::vector<std::unique_ptr<loop::FakePeer>> peers;
  for (uint32_t link = 0; link < 2; ++link) {
    peers.push_back(make_up_lane(1));
    peers.back()->to().touching.store(1);
    set_->end("the link has ended");
    make(Session::Role::kAcceptor);
    reactor_.end_iteration();
  }
  EXPECT_EQ(budget_->used(Resource::kDomains), 2u);
  say(FrameKind::kLaneOpen, 1, open_bytes(host_->reach()));
  EXPECT_EQ(last_words(),
            "at most 2 of the links of one peer may have RDMA lanes, and 2 have them: use more "
            "workers");
  for (const auto& peer : peers) peer->to().touching.store(0);
  host_->take_fabric_events();
  reactor_.end_iteration();
  EXPECT_EQ(budget_->used(Resource::kDomains), 0u);
  EXPECT_EQ(host_->budget()->used(Resource::kMemory), 0u);
}

// An initiator and an acceptor in one process. They have no TCP connection, so the test itself
// delivers the frames that would use it. Frames on a lane go over the loop fabric.
class TwoLaneSets : public testing::Test {
 protected:
  struct Side final : LaneSetEvents {
    explicit Side(FakeReactor& reactor)
        : host(std::move(*RdmaHost::create(reactor, *open_loop_fabric(),
                                           {.arena = {.bytes = {1 << 20, 1 << 20, 2 << 20}}}))) {}
    Result<LaneShape> on_lane_wanted(const LaneWish&) override { return kShape; }
    void on_lane_up(LaneSet&, uint32_t) override { is_up = true; }
    void on_lane_message(LaneSet&, uint32_t, const FrameHeader& header, Bytes payload,
                         Leg) override {
      heard.emplace_back(
          header.kind, std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
    }
    void on_lane_down(LaneSet&, uint32_t, bool, const std::string& why) override { down = why; }

    std::unique_ptr<RdmaHost> host;
    Control control;
    std::unique_ptr<LaneSet> set;
    size_t carried = 0;
    bool is_up = false;
    std::string down;
    std::vector<std::pair<FrameKind, std::string>> heard;  // frames received on the lane
  };
  static constexpr LaneShape kShape{.slots = 4, .slot_bytes = 1024};

  TwoLaneSets() : initiator_(reactor_), acceptor_(reactor_) {}
  // Creates the initiator's set and the acceptor's set, and opens a lane. Each set uses the hello
  // of the other side, which is given as an argument.
  void begin(const Hello& initiators = {}, const Hello& acceptors = {}) {
    initiator_.set = std::make_unique<LaneSet>(
        reactor_, *initiator_.host, Session::Role::kInitiator, initiator_.control,
        LaneSetOptions{.nonces = knows_nonces(acceptors)}, initiator_);
    acceptor_.set = std::make_unique<LaneSet>(
        reactor_, *acceptor_.host, Session::Role::kAcceptor, acceptor_.control,
        LaneSetOptions{.nonces = knows_nonces(initiators)}, acceptor_);
    initiator_.set->open({.out = kShape, .back = kShape});
  }
  bool come_up() {
    return turn_until([&] { return initiator_.is_up && acceptor_.is_up; });
  }
  void send_call() {
    const std::string call = "a call";
    initiator_.set->lane(1)->send({.kind = FrameKind::kRaw, .stream = 7},
                                  {std::as_bytes(std::span(call))});
  }
  // Runs event-loop iterations until `holds()` returns true, or for at most 20 s. The two sides
  // need a few iterations to connect over the loop fabric (RDMA in shared memory).
  bool turn_until(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      carry(initiator_, acceptor_);
      carry(acceptor_, initiator_);
      initiator_.set->flush();
      acceptor_.set->flush();
      hear_of_the_fabric(initiator_);
      hear_of_the_fabric(acceptor_);
      reactor_.end_iteration();
    }
    return true;
  }
  // Handles the fabric's events. A real reactor does this when the fabric's descriptor is readable,
  // but a FakeReactor does not watch descriptors.
  static void hear_of_the_fabric(Side& side) { side.host->take_fabric_events(); }
  void carry(Side& from, Side& to) {
    for (; from.carried < from.control.sent.size(); ++from.carried) {
      auto [header, payload] = from.control.sent[from.carried];
      if (header.kind == FrameKind::kLaneUp) {
        if (holds_back_up_) return;
        on_the_way_(payload);
      }
      to.set->on_lane_frame(header, std::as_bytes(std::span(payload)));
    }
  }
  FakeReactor reactor_;
  Side initiator_;
  Side acceptor_;
  std::function<void(std::string& nonce)> on_the_way_ = [](std::string&) {};
  bool holds_back_up_ = false;  // if true, the test does not deliver kLaneUp frames
};

TEST_F(TwoLaneSets, GiveUpALaneForWhichNoNonceCame) {
  begin();
  on_the_way_ = [](std::string& nonce) { nonce.clear(); };
  ASSERT_TRUE(turn_until([&] { return !initiator_.down.empty(); }));
  EXPECT_THAT(initiator_.down, HasSubstr("sent no nonce"));
}

using Heard = std::vector<std::pair<FrameKind, std::string>>;
const Heard kTheCall = {{FrameKind::kRaw, "a call"}};
constexpr const char* kNotShown = "does not have the nonce that was sent on the link";

TEST_F(TwoLaneSets, CarryCallsOnceTheNonceWasShown) {
  begin();
  ASSERT_TRUE(come_up());
  send_call();
  ASSERT_TRUE(turn_until([&] { return !acceptor_.heard.empty(); }));
  EXPECT_EQ(acceptor_.heard, kTheCall) << "the nonce itself is nobody's message";
  EXPECT_EQ(acceptor_.down, "");
}

TEST_F(TwoLaneSets, GiveUpALaneThatShowsAnotherNonce) {
  begin();
  on_the_way_ = [](std::string& nonce) { nonce.back() ^= 1; };
  ASSERT_TRUE(come_up());
  send_call();
  ASSERT_TRUE(turn_until([&] { return !initiator_.down.empty(); }));
  EXPECT_THAT(acceptor_.down, HasSubstr(kNotShown));
  EXPECT_THAT(initiator_.down, HasSubstr(kNotShown)) << "it is told why";
  EXPECT_EQ(acceptor_.heard, Heard());
}

// Tests that the acceptor ends a lane on which the first message is a call and not the nonce. An
// attacker that has found the queue pair, but cannot read the nonce on the link, could send a call.
TEST_F(TwoLaneSets, GiveUpALaneThatBeginsWithACall) {
  begin({}, {.version_max = kLinkVersionOfNonces - 1});
  ASSERT_TRUE(come_up());
  send_call();
  ASSERT_TRUE(turn_until([&] { return !initiator_.down.empty(); }));
  EXPECT_THAT(acceptor_.down, HasSubstr(kNotShown));
  EXPECT_EQ(acceptor_.heard, Heard());
}

// Tests that the initiator ends a lane on which the acceptor sends before its kLaneUp. A correct
// acceptor never does so: on a lane it only answers.
TEST_F(TwoLaneSets, GiveUpALaneThatSpeaksBeforeItsSideOfTheLinkHasSaidThatItIsUp) {
  begin();
  holds_back_up_ = true;
  ASSERT_TRUE(turn_until([&] { return acceptor_.is_up; }));
  const std::string early = "too early";
  acceptor_.set->lane(1)->send({.kind = FrameKind::kRaw, .stream = 7},
                               {std::as_bytes(std::span(early))});
  ASSERT_TRUE(turn_until([&] { return !initiator_.down.empty(); }));
  EXPECT_THAT(initiator_.down, HasSubstr("before it was up"));
  EXPECT_EQ(initiator_.heard, Heard());
}

TEST_F(TwoLaneSets, EachNonceIsOfOneLane) {
  begin();
  std::vector<std::string> nonces;
  on_the_way_ = [&](std::string& nonce) {
    nonces.push_back(nonce);
    nonce = nonces.front();  // replays the first nonce
  };
  ASSERT_TRUE(come_up());
  initiator_.set->open({.out = kShape, .back = kShape});
  ASSERT_TRUE(turn_until([&] { return !initiator_.down.empty(); }));
  EXPECT_THAT(acceptor_.down, HasSubstr(kNotShown));
  EXPECT_NE(initiator_.set->lane(1), nullptr) << "the first stays";
}

// Each side is given the hello of a peer with link version 2, so neither side sends or expects a
// nonce.
TEST_F(TwoLaneSets, SayNothingOfNoncesToAnOlderPeer) {
  const Hello older{.version_max = kLinkVersionOfNonces - 1};
  begin(older, older);
  std::string given = "none yet";
  on_the_way_ = [&](std::string& nonce) { given = nonce; };
  ASSERT_TRUE(come_up());
  send_call();
  ASSERT_TRUE(turn_until([&] { return !acceptor_.heard.empty(); }));
  EXPECT_EQ(acceptor_.heard, kTheCall);
  EXPECT_EQ(given, "");
}

}  // namespace
}  // namespace hat::engine
