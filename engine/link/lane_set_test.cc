// SPDX-License-Identifier: Apache-2.0
// engine/link/lane_set_test.cc: tests the frames that create RDMA lanes (RDMA connections between
// two daemons), and refusals of lanes. daemon/process/rdma_link_conformance.cc tests lanes that
// carry calls.
#include "engine/link/lane_set.h"

#include <gmock/gmock.h>

#include <chrono>
#include <functional>

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
    host_ = std::move(*RdmaHost::create_per_link(
        reactor_, open_loop_fabric, {.arena = {.bytes = {1 << 20, 1 << 20, 2 << 20}}}));
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
  const std::string& last_words() { return control_.sent.back().second; }
  FrameKind last_kind() { return control_.sent.back().first.kind; }

  Result<LaneShape> on_lane_wanted(const LaneWish&) override {
    if (refuses_) return fail(ErrorCode::kExhausted, "no plan answers so");
    return LaneShape{.slots = 4, .slot_bytes = 64};
  }
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

// An initiator and an acceptor in one process. They have no TCP connection, so the test itself
// delivers the frames that would use it. Frames on a lane go over the loop fabric.
class TwoLaneSets : public testing::Test {
 protected:
  struct Side final : LaneSetEvents {
    explicit Side(FakeReactor& reactor)
        : host(std::move(*RdmaHost::create_per_link(
              reactor, open_loop_fabric, {.arena = {.bytes = {1 << 20, 1 << 20, 2 << 20}}}))) {}
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
  static void hear_of_the_fabric(Side& side) {
    for (const auto& domain : side.host->domains()) domain->take_fabric_events();
  }
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
