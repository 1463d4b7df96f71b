// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/inbound_stream.h"

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/proxy/inbound/fake_pool.h"
#include "engine/fabric/loop/loop_fabric.h"
#include "engine/fake_member.h"
#include "engine/plan/ability.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using engine::FrameHeader;
using engine::FrameKind;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<FrameKind> frame_kinds(std::string_view frames) {
  std::vector<FrameKind> kinds;
  for (const FrameHeader& header : headers_in(frames)) kinds.push_back(header.kind);
  return kinds;
}

std::string frame_of_call(uint64_t ordinal, uint8_t flags = engine::kLastPiece) {
  return frame_bytes(
      {.kind = FrameKind::kCall, .flags = flags, .replies = 1, .stream = 1, .call = ordinal},
      call_meta("get", 7) + strict_message(thrift::MessageType::kCall, "get", 7));
}

// --- A peer that sends calls or bytes after its kEnd ---

struct Breach {
  const char* what;
  std::string before;  // keeps the stream open after the kEnd
  std::string after;
};

TEST(AfterThePeersEnd, MoreCallsOrBytesResetTheStream) {
  const std::string raw = frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "TLS?");
  const std::string rest = frame_bytes(
      {.kind = FrameKind::kMore, .flags = engine::kLastPiece, .stream = 1, .call = 1}, "rest");
  const Breach breaches[] = {
      {"a call", frame_of_call(1), frame_of_call(2)},
      {"the rest of a call", frame_of_call(1, 0), rest},
      {"opaque bytes", raw, raw},
      {"opaque bytes after a call", frame_of_call(1), raw},
  };
  for (const Breach& breach : breaches) {
    SCOPED_TRACE(breach.what);
    FakeNode node;
    const auto link = node.connect_link();
    node.receive(link, hello_bytes("host-b", "host-a"));
    node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv"));
    node.receive(link, breach.before);
    const auto server = node.reactor.wires.back();
    server->events->on_writable();
    node.receive(link, frame_bytes({.kind = FrameKind::kEnd, .stream = 1}));
    link->written.clear();
    const std::string written = server->written;
    node.receive(link, breach.after);
    EXPECT_THAT(frame_kinds(link->written), ElementsAre(FrameKind::kReset));
    EXPECT_EQ(server->written, written) << "the server received nothing of it";
    EXPECT_TRUE(server->closed);
  }
}

TEST(AfterThePeersEnd, ASecondEndChangesNothing) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv"));
  node.receive(link, frame_of_call(1));
  const auto server = node.reactor.wires.back();
  server->events->on_writable();
  node.reactor.end_iteration();
  link->written.clear();
  for (int i = 0; i < 2; ++i) {
    node.receive(link, frame_bytes({.kind = FrameKind::kEnd, .stream = 1}));
  }
  EXPECT_EQ(link->written, "");
  node.receive(server, strict_message(thrift::MessageType::kReply, "get", 7));
  EXPECT_THAT(frame_kinds(link->written), ElementsAre(FrameKind::kReply));
}

// --- Planted violations ---

class InboundStreamDeathTest : public testing::Test {
 protected:
  FakeNode node_;
  AcceptedLink link_{*node_.worker, {.node = "host-a"}, node_.accept()};
  engine::FakeMember turn_;
  InboundStream stream_{link_, 1, 0, turn_};
};

TEST_F(InboundStreamDeathTest, ASecondEnd) {
  stream_.close();
  EXPECT_DEATH(stream_.close(), "a stream only advances");
}

TEST_F(InboundStreamDeathTest, MoreThanThePeerTakes) {
  constexpr size_t kMost = engine::kStreamWindowBytes + UnitReader::kHeldBytesMax;
  const std::vector<std::byte> bytes(kMost + 1);
  EXPECT_DEATH(stream_.send_raw(bytes), "more was sent than the peer takes");
  stream_.send_raw(Bytes(bytes).first(kMost));
  EXPECT_EQ(stream_.budget(), 0u);
  stream_.note_frame({.credit = UnitReader::kHeldBytesMax + 1}, 0);
  EXPECT_EQ(stream_.budget(), 1u);
}

TEST_F(InboundStreamDeathTest, ACreditForBytesThatHaveNotArrived) {
  ASSERT_TRUE(stream_.take(10));
  stream_.grant_ahead(10);
  stream_.grant(10);  // has no effect, because grant_ahead() has granted these bytes
  EXPECT_DEATH(stream_.grant(1), "more was passed on than has arrived");
}

// --- The lanes of a stream ---

std::unique_ptr<engine::RdmaHost> loop_host(Reactor& reactor) {
  auto host = engine::RdmaHost::create(reactor, *engine::open_loop_fabric(),
                                       {.arena = {.bytes = {4 << 20, 4 << 20, 4 << 20}}});
  EXPECT_TRUE(host) << host.error().message;
  return std::move(*host);
}

// A peer with one RDMA lane, which plays the client's daemon. It keeps the frames that it gets on
// the link and on the lane.
class LanesOfAStream : public testing::Test,
                       public engine::SessionEvents,
                       public engine::LaneSetEvents {
 protected:
  LanesOfAStream() {
    const std::vector<ServedConfig> serves = {
        {"Kv", *parse_address("tcp:127.0.0.1:9091"), UpstreamMode::kMirror},
        {"Pool", *parse_address("tcp:127.0.0.1:9091"), UpstreamMode::kShared, 2}};
    NodeConfig config{.node = "host-b", .limits = default_limits()};
    config.limits.keepalive_interval = config.limits.keepalive_timeout = 1h;
    config.serves = serves;
    const Manifest manifest{
        "", {{"Kv", {}, {{.name = "get"}}, ""}, {"Pool", {}, {{.name = "get"}}, ""}}};
    auto routes =
        std::make_shared<RoutingTable>(1, manifest, std::vector<std::string>{},
                                       engine::HostFacts{8, 8, true, ""}, metrics_, serves);
    worker_ = std::make_unique<Worker>(
        reactor_, Worker::Setup{.generation = 1,
                                .node = std::make_shared<NodeConfig>(std::move(config)),
                                .routes = std::move(routes),
                                .counters = &counters_,
                                .detached = &detached_,
                                .rdma = node_host_.get()});
    const ListenerEvents::Accept connect = [this](StreamEvents& events) {
      return reactor_.connect(*parse_address("tcp:127.0.0.1:1"), events);
    };
    worker_->accept_link(connect);
    node_wire_ = reactor_.wires.back();
    session_ = std::make_unique<engine::Session>(reactor_, engine::Session::Role::kInitiator,
                                                 engine::SessionOptions{.node = "host-a",
                                                                        .peer = "host-b",
                                                                        .generation = 1,
                                                                        .legs = engine::kAllLegs,
                                                                        .handshake_timeout = 1h,
                                                                        .keepalive_interval = 1h,
                                                                        .keepalive_timeout = 1h},
                                                 connect, *this);
    peer_wire_ = reactor_.wires.back();
    until([&] { return session_->up(); });
    lanes_ =
        std::make_unique<engine::LaneSet>(reactor_, *peer_host_, engine::Session::Role::kInitiator,
                                          session_->lane(), engine::LaneSetOptions{}, *this);
    session_->set_lanes(lanes_.get());
    lane_ = lanes_->open({.out = kShape, .back = kShape});
    until([&] { return lane_is_up_; });
  }
  ~LanesOfAStream() override { lanes_->end("the test has ended"); }

  // Delivers what each side has written to the other side, and polls the lanes of both sides.
  void turn() {
    lanes_flush();
    session_->lane().flush();
    for (const auto& [from, to] :
         {std::pair(node_wire_, peer_wire_), std::pair(peer_wire_, node_wire_)}) {
      to->incoming += std::exchange(from->written, "");
      FakeNode::read(to);
    }
    for (engine::RdmaHost* host : {node_host_.get(), peer_host_.get()}) {
      host->take_fabric_events();
    }
    reactor_.end_iteration();
  }
  void lanes_flush() {
    if (lanes_) lanes_->flush();
  }
  void turns() {
    for (int i = 0; i < 50; ++i) turn();
  }
  void until(const std::function<bool()>& holds) {
    for (int i = 0; i < 10'000 && !holds(); ++i) turn();
    ASSERT_TRUE(holds());
  }
  void open(const std::string& service) {
    session_->lane().send({.kind = FrameKind::kOpen, .stream = 1},
                          {std::as_bytes(std::span(service))});
  }
  void call(engine::Lane& lane, uint64_t ordinal, uint32_t credit = 0) {
    const std::string payload =
        call_meta("get", 7) + strict_message(thrift::MessageType::kCall, "get", 7);
    lane.send({.kind = FrameKind::kCall,
               .flags = engine::kLastPiece,
               .replies = 1,
               .stream = 1,
               .credit = credit,
               .call = ordinal},
              {std::as_bytes(std::span(payload))});
  }
  // Returns the connection to the server that was made last, and lets it write.
  FakeNode::Wire server() {
    auto wire = reactor_.wires.back();
    wire->events->on_writable();
    return wire;
  }
  void reply(const FakeNode::Wire& server, const std::string& body = std::string(1, '\0')) {
    const int32_t id = requests_in(server->written).back().id;
    server->incoming += strict_message(thrift::MessageType::kReply, "get", id, body);
    FakeNode::read(server);
  }
  uint64_t started() { return metrics_.find("Pool", "get").at(Side::kServer, 0).started.value(); }

  Result<void> on_hello(engine::Session&) override { return {}; }
  void on_session_up(engine::Session&) override {}
  void on_frame(engine::Session&, const FrameHeader& header, engine::Bytes) override {
    on_link_.push_back(header.kind);
  }
  void on_session_down(engine::Session&, const std::string&) override {}
  Result<engine::LaneShape> on_lane_wanted(const engine::LaneWish& wish) override {
    return wish.back;
  }
  void on_lane_up(engine::LaneSet&, uint32_t) override { lane_is_up_ = true; }
  void on_lane_message(engine::LaneSet&, uint32_t, const FrameHeader& header, engine::Bytes,
                       engine::Leg) override {
    on_lane_.push_back(header.kind);
  }
  void on_lane_down(engine::LaneSet&, uint32_t, bool, const std::string& reason) override {
    why_down_ = reason;
  }

  static constexpr engine::LaneShape kShape{
      .leg = engine::Leg::kWriteImm, .slots = 16, .slot_bytes = 1024};

  FakeReactor reactor_;
  WorkerCounters counters_;
  DetachedConnections detached_;
  MetricsRegistry metrics_{1};
  std::unique_ptr<engine::RdmaHost> node_host_ = loop_host(reactor_);
  std::unique_ptr<engine::RdmaHost> peer_host_ = loop_host(reactor_);
  std::unique_ptr<Worker> worker_;
  FakeNode::Wire node_wire_;
  FakeNode::Wire peer_wire_;
  std::unique_ptr<engine::Session> session_;
  std::unique_ptr<engine::LaneSet> lanes_;
  uint32_t lane_ = 0;
  bool lane_is_up_ = false;
  std::string why_down_;
  std::vector<FrameKind> on_link_;
  std::vector<FrameKind> on_lane_;
};

TEST_F(LanesOfAStream, CarryTheAnswersOfTheirOwnCalls) {
  open("Kv");
  turns();
  call(*lanes_->lane(lane_), 1);
  turns();
  const auto to_server = server();
  reply(to_server);
  turns();
  EXPECT_THAT(on_lane_, ElementsAre(FrameKind::kBound, FrameKind::kReply));
  call(session_->lane(), 2);
  turns();
  on_link_.clear();
  reply(to_server);
  turns();
  EXPECT_THAT(on_link_, ElementsAre(FrameKind::kReply));
}

// Charges that the test makes stand for further links of the peer.
TEST_F(LanesOfAStream, OfOnePeerHaveAQuarterOfTheDomains) {
  using engine::RdmaBudget;
  using engine::Resource;
  const auto share = worker_->peer_shares().of("host-a");
  const std::shared_ptr<RdmaBudget> budget(share, &*share->rdma);
  EXPECT_EQ(budget->most(Resource::kDomains), 128u / 4);
  EXPECT_EQ(budget->used(Resource::kDomains), 1u);
  EXPECT_EQ(budget->used(Resource::kMemory), 12u << 20);
  EXPECT_EQ(budget->most(Resource::kMemory), 128 / 4 * (12u << 20)) << "a quarter, too";
  EXPECT_EQ(counters_.rdma.registered_bytes.value(), 12u << 20);
  lanes_->close(lane_, "the test closes it");
  turns();
  reactor_.advance(6s);
  turns();
  EXPECT_EQ(budget->used(Resource::kDomains), 0u);
  EXPECT_EQ(counters_.rdma.registered_bytes.value(), 0u);
  RdmaBudget::Charge other_links(budget, Resource::kDomains);
  ASSERT_TRUE(other_links.add(32));
  lanes_->open({.out = kShape, .back = kShape});
  until([&] { return why_down_.contains("may have RDMA lanes"); });
  EXPECT_THAT(why_down_, HasSubstr("at most 32 of the links of one peer may have RDMA lanes, and "
                                   "32 have them: use more workers"));
  EXPECT_EQ(counters_.rdma.lanes_refused.value(), 1u);
  other_links.give_back(1);
  reactor_.advance(1s);
  lane_is_up_ = false;
  lanes_->open({.out = kShape, .back = kShape});
  until([&] { return lane_is_up_; });
  EXPECT_EQ(budget->used(Resource::kDomains), 32u);
}

// The stream has moved from its RDMA lane to the TCP lane, so it survives the loss of the RDMA
// lane. The call that arrived on the RDMA lane is answered on the TCP lane.
TEST_F(LanesOfAStream, AreReplacedByTheLinkOnceTheyAreGone) {
  open("Kv");
  turns();
  call(*lanes_->lane(lane_), 1);
  turns();
  const auto to_server = server();
  call(session_->lane(), 2);
  turns();
  on_link_.clear();
  lanes_->close(lane_, "the test closes it");
  turns();
  reply(to_server);
  reply(to_server);
  turns();
  EXPECT_THAT(on_link_, ElementsAre(FrameKind::kReply, FrameKind::kReply));
}

TEST_F(LanesOfAStream, EndItSomeTimeAfterTheyAreLost) {
  open("Kv");
  turns();
  call(*lanes_->lane(lane_), 1);
  turns();
  (void)server();
  turns();
  on_link_.clear();
  lanes_->close(lane_, "the test closes it");
  turns();
  EXPECT_THAT(on_link_, testing::IsEmpty()) << "the peer can ask whether the stream continues";
  reactor_.advance(2 * OutboundStream::kResumeWait);
  turns();
  EXPECT_THAT(on_link_, ElementsAre(FrameKind::kReset));
}

// The peer has sent kEnd, and the rest of the last reply waits for credit. A kCall frame on another
// lane grants this credit: the reply is sent to its end, the stream ends, and the call is dropped.
TEST_F(LanesOfAStream, HandleNothingMoreOfAStreamThatEndsAsItMoves) {
  open("Pool");
  turns();
  call(session_->lane(), 1);
  turns();
  const auto to_server = server();
  reply(to_server, with_text(engine::kStreamWindowBytes + 10'000));
  session_->lane().send({.kind = FrameKind::kEnd, .stream = 1}, {});
  turns();
  on_link_.clear();
  const size_t connections = reactor_.wires.size();
  call(*lanes_->lane(lane_), 2, engine::kStreamWindowBytes);
  turns();
  EXPECT_THAT(on_link_, ElementsAre(FrameKind::kMore)) << "the rest of the answer";
  EXPECT_EQ(started(), 1u);
  EXPECT_EQ(reactor_.wires.size(), connections);
}

}  // namespace
}  // namespace hat
