// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/rdma_link_conformance.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>

#include "base/address.h"
#include "engine/rdma/lane_side.h"

namespace hat {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RdmaLink);

using namespace engine;
using namespace std::chrono_literals;

LaneSetOptions quick_lane_options() {
  LaneSetOptions options;
  options.idle_timeout = 400ms;
  options.probe_interval = 100ms;
  options.probe_timeout = 1s;
  options.open_timeout = 5s;
  options.domain_linger = 100ms;
  return options;
}

// --- A node ---

LinkNode::LinkNode(OpenFabricOf open, bool server, const ArenaOptions& arena) : server_(server) {
  auto fabric = open(server);
  if (!fabric) throw std::runtime_error(fabric.error().message);
  auto made = RdmaHost::create(reactor, std::move(*fabric), {.arena = arena});
  if (!made) throw std::runtime_error(made.error().message);
  host = std::move(*made);
  reactor.add_iteration_events(*this);
}

LinkNode::~LinkNode() {
  reactor.remove_iteration_events(*this);
  lanes.reset();
}

void LinkNode::begin(Session::Role role, const engine::OpenStream& open) {
  const SessionOptions options{.node = server_ ? "server" : "client",
                               .peer = server_ ? "" : "server",
                               .generation = 1,
                               .handshake_timeout = 5s,
                               .keepalive_interval = 1s,
                               .keepalive_timeout = 5s};
  session = std::make_unique<Session>(reactor, role, options, open, *this);
  lanes = std::make_unique<LaneSet>(reactor, *host, role, session->lane(), lane_options, *this);
  session->set_lanes(lanes.get());
}

bool LinkNode::until(const std::function<bool()>& holds, Duration at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  const auto tick = reactor.timer([] {});  // makes sure that iterate() does not sleep for ever
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    tick->set(reactor.now() + 20ms);
    reactor.iterate();
  }
  return true;
}

void LinkNode::on_iteration_end() {
  if (lanes) lanes->flush();
  if (session && link_down.empty()) session->lane().flush();
}

void LinkNode::on_session_down(Session&, const std::string& reason) {
  link_down = reason;
  lanes->end(reason);
}

void LinkNode::on_lane_message(LaneSet& set, uint32_t lane, const FrameHeader& header,
                               Bytes payload, engine::Leg) {
  if (server_) {
    *seen = header.call;
    set.lane(lane)->send(
        {.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = header.call},
        {payload});
    return;
  }
  const auto wanted = pattern(header.call, payload.size());
  if (std::ranges::equal(payload, wanted)) answers[header.call] = payload.size();
}

void LinkNode::on_lane_down(LaneSet& set, uint32_t lane, bool, const std::string& reason) {
  lanes_down.push_back(reason);
  for (const auto& [call, number] : calls) {
    if (!answers.contains(call) && set.lane(lane) != nullptr) {
      fates[call] = set.lane(lane)->fate(number);
    }
  }
}

// --- Two nodes ---

namespace {

struct Acceptor : ListenerEvents {
  explicit Acceptor(LinkNode& its_node) : node(its_node) {}
  void on_connection(const Accept& accept) override {
    if (!node.session) node.begin(Session::Role::kAcceptor, accept);
  }
  LinkNode& node;
};

void serve(OpenFabricOf open, const ArenaOptions& arena, int ready_pipe,
           std::atomic<uint64_t>* seen) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  LinkNode node(open, true, arena);
  node.seen = seen;
  const auto socket = ListenSocket::open(*parse_address("tcp:127.0.0.1:0"));
  if (!socket) _exit(1);
  Acceptor acceptor(node);
  const auto listener = node.reactor.listen(*socket, acceptor);
  const std::string where = to_string(socket->address());
  if (write(ready_pipe, where.data(), where.size()) < 0) _exit(1);
  close(ready_pipe);
  node.until([&] { return !node.link_down.empty(); }, 10min);
  _exit(0);
}

}  // namespace

RdmaLink::RdmaLink()
    : seen_(static_cast<std::atomic<uint64_t>*>(mmap(nullptr, sizeof *seen_, PROT_READ | PROT_WRITE,
                                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}

RdmaLink::~RdmaLink() {
  client_.reset();
  kill_server();
  munmap(seen_, sizeof *seen_);
}

void RdmaLink::start(const ArenaOptions& server_arena, Duration idle_timeout) {
  kill_server();
  client_.reset();
  *seen_ = 0;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  server_ = fork();
  if (server_ == 0) serve(GetParam(), server_arena, ends[1], seen_);
  close(ends[1]);
  char where[100] = {};
  ASSERT_GT(read(ends[0], where, sizeof where - 1), 0) << "the server did not start";
  close(ends[0]);
  client_ = std::make_unique<LinkNode>(GetParam(), false, kArena);
  client_->lane_options.idle_timeout = idle_timeout;
  const Address address = *parse_address(where);
  client_->begin(Session::Role::kInitiator,
                 [&](StreamEvents& events) { return client_->reactor.connect(address, events); });
  ASSERT_TRUE(client_->until([&] { return client_->link_up; }));
}

void RdmaLink::kill_server() {
  if (server_ <= 0) return;
  kill(server_, SIGKILL);
  waitpid(std::exchange(server_, -1), nullptr, 0);
}

void RdmaLink::expect_true_fates(uint64_t count) const {
  const uint64_t seen = *seen_;
  for (uint64_t call = 1; call <= count; ++call) {
    if (client_->answers.contains(call)) {
      EXPECT_LE(call, seen);
      continue;
    }
    ASSERT_TRUE(client_->fates.contains(call)) << call;
    const Fate fate = client_->fates.at(call);
    EXPECT_NE(fate, call <= seen ? Fate::kNotDelivered : Fate::kDelivered)
        << call << " of " << seen;
  }
}

uint32_t RdmaLink::open_lane(LaneShape back) {
  const uint32_t lane = client_->lanes->open({.out = kTestShape, .back = back});
  const size_t down = client_->lanes_down.size();
  const bool decided =
      client_->until([&] { return client_->lane_up == lane || client_->lanes_down.size() > down; });
  EXPECT_TRUE(decided) << "the lane neither came up nor was refused";
  return lane;
}

void RdmaLink::call(uint64_t first, uint64_t count,
                    const std::function<size_t(uint64_t)>& bytes_of) {
  RdmaLane* lane = client_->lanes->lane(client_->lane_up);
  ASSERT_NE(lane, nullptr);
  for (uint64_t call = first; call != first + count; ++call) {
    client_->calls[call] = lane->send(
        {.kind = FrameKind::kCall, .flags = kLastPiece, .replies = 1, .stream = 1, .call = call},
        {pattern(call, bytes_of(call))});
  }
}

static size_t of_all_sizes(uint64_t call) { return call % 7 == 0 ? 50'000 : call * 13 % 1500; }

TEST_P(RdmaLink, LanesAreMadeWhenWantedAndGivenBackWhenIdle) {
  start();
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(client_->host->domains().empty()) << "a link without lanes has no memory";
    const uint32_t lane = open_lane();
    ASSERT_EQ(client_->lane_up, lane);
    EXPECT_EQ(client_->host->domains().size(), 1u);
    client_->answers.clear();
    call(1, 100, of_all_sizes);
    ASSERT_TRUE(client_->until([&] { return client_->answers.size() == 100; }));
    for (const auto& [call, bytes] : client_->answers) EXPECT_EQ(bytes, of_all_sizes(call));
    const size_t before = client_->lanes_down.size();
    ASSERT_TRUE(client_->until([&] { return client_->lanes_down.size() > before; }, 20s));
    EXPECT_EQ(client_->lanes_down.back(), "it was idle");
    EXPECT_EQ(client_->lanes->lane(lane), nullptr);
    ASSERT_TRUE(client_->until([&] { return client_->host->domains().empty(); }));
  }
  EXPECT_TRUE(client_->link_down.empty());
}

TEST_P(RdmaLink, AnyLegBack) {
  start();
  for (size_t leg = 0; leg < kLegCount; ++leg) {
    LaneShape back = kTestShape;
    back.leg = Leg(leg);
    SCOPED_TRACE(row(Leg(leg)).name);
    const uint32_t lane = open_lane(back);
    ASSERT_EQ(client_->lane_up, lane);
    client_->answers.clear();
    call(1, 20, of_all_sizes);
    ASSERT_TRUE(client_->until([&] { return client_->answers.size() == 20; }));
    client_->lanes->close(lane, "the test has done");
  }
}

TEST_P(RdmaLink, WhatHasNoRoomIsRefusedInWords) {
  start({.bytes = {16 << 10, 16 << 10, 1 << 20}});
  open_lane();
  ASSERT_EQ(client_->lane_up, 0u);
  ASSERT_EQ(client_->lanes_down.size(), 1u);
  EXPECT_NE(client_->lanes_down[0].find("the peer: RDMA lane: no memory left"), std::string::npos)
      << client_->lanes_down[0];
  EXPECT_TRUE(client_->link_down.empty()) << "the link itself goes on";
}

TEST_P(RdmaLink, AKilledPeerIsNoticedAndEachCallIsAccountedFor) {
  for (size_t round = 0; round < 4; ++round) {
    start();
    open_lane();
    call(1, 400, of_all_sizes);
    ASSERT_TRUE(client_->until([&] { return client_->answers.size() >= 20u * round; }));
    kill_server();
    ASSERT_TRUE(client_->until([&] { return !client_->lanes_down.empty(); }, 15s));
    expect_true_fates(400);
    EXPECT_TRUE(std::ranges::any_of(client_->fates, [](const auto& one) {
      return one.second == Fate::kNotDelivered;
    })) << "400 do not fit the slots: some never left";
  }
}

TEST_P(RdmaLink, AnIdleLaneLetsTheWorkerSleep) {
  start();
  open_lane();
  call(1, 10, of_all_sizes);
  ASSERT_TRUE(client_->until([&] { return client_->answers.size() == 10; }));
  client_->until([] { return false; }, 100ms);
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  client_->until([] { return false; }, 250ms);
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  const auto micros = [](const rusage& usage) {
    return usage.ru_utime.tv_sec * 1'000'000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_sec * 1'000'000 + usage.ru_stime.tv_usec;
  };
  EXPECT_LT(micros(after) - micros(before), 60'000) << "of 250 ms";
}

}  // namespace hat
