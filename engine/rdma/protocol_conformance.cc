// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/protocol_conformance.h"

#include <functional>
#include <random>
#include <utility>

namespace hat::engine {
namespace {

// A stream that waits until its lane is no longer congested.
struct Waiter final : SendTurns::Member {
  explicit Waiter(std::function<void()> what) : Member(0), send(std::move(what)) {}
  void on_turn() override {
    ++turns;
    send();
  }
  std::function<void()> send;
  int turns = 0;
};

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ProtocolConformance);

std::string case_name(const testing::TestParamInfo<ProtocolCase>& info) {
  return std::string(info.param.protocol->name);
}

void ProtocolConformance::connect(void (*change)(RdmaLaneOptions&), const ArenaOptions& arena) {
  client_ = std::make_unique<LaneSide>(GetParam().open, arena);
  server_ = std::make_unique<LaneSide>(GetParam().open, arena);
  RdmaLaneOptions options = options_for(*GetParam().protocol, *GetParam().protocol);
  if (change != nullptr) change(options);
  join(*client_, *server_, options);
}

bool ProtocolConformance::until(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (testing::Test::HasFatalFailure()) return false;
    client_->iterate();
    server_->iterate();
    if (std::chrono::steady_clock::now() < end) continue;
    for (const std::string& why : client_->down) ADD_FAILURE() << "the client's lane: " << why;
    for (const std::string& why : server_->down) ADD_FAILURE() << "the server's lane: " << why;
    return false;
  }
  return true;
}

void ProtocolConformance::expect_answer(size_t index, uint64_t number, size_t bytes) {
  const Frame& frame = client_->frames.at(index);
  EXPECT_EQ(frame.header.kind, FrameKind::kReply);
  EXPECT_EQ(frame.header.call, number);
  EXPECT_TRUE(frame.payload == pattern(number, bytes)) << number << ", " << bytes << " bytes";
}

TEST_P(ProtocolConformance, CarriesEverySizeThereAndBack) {
  connect();
  uint64_t number = 0;
  for (const size_t bytes :
       {0u,    1u,    8u,    63u,   64u,   65u,    975u,   976u,   977u,     1023u,
        1024u, 1025u, 4095u, 4096u, 4097u, 65535u, 65536u, 65537u, 1u << 20, (3u << 20) + 1}) {
    SCOPED_TRACE(bytes);
    client_->call(++number, bytes);
    ASSERT_TRUE(until([&] { return client_->frames.size() == number; }));
    expect_answer(number - 1, number, bytes);
    ASSERT_TRUE(server_->frames.back().payload == pattern(number, bytes));
  }
}

TEST_P(ProtocolConformance, CarriesEverySizeInLargeSlots) {
  connect(
      [](RdmaLaneOptions& options) { options.out.slot_bytes = options.in.slot_bytes = 64 * 1024; });
  uint64_t number = 0;
  for (const size_t bytes : {0u, 64u, 4096u, 4097u, 5000u, 65535u, 65536u, 65537u, 100'000u}) {
    SCOPED_TRACE(bytes);
    client_->call(++number, bytes);
    ASSERT_TRUE(until([&] { return client_->frames.size() == number; }));
    expect_answer(number - 1, number, bytes);
  }
}

TEST_P(ProtocolConformance, RefusesWhatNoMemoryCanHold) {
  connect();
  EXPECT_EQ(client_->lane->message_bytes_max(), size_t{4 << 20});
  client_->call(1, 5 << 20);
  EXPECT_TRUE(client_->down.empty()) << "send() calls nobody back";
  EXPECT_TRUE(client_->lane->congested()) << "no stream may send on a broken lane";
  client_->lane->flush();
  ASSERT_EQ(client_->down.size(), 1u);
  EXPECT_EQ(client_->down[0],
            "a message of 5242880 bytes is too large: the two sides have memory for 4194304 bytes "
            "at most; raise fabric.max_pinned");
}

TEST_P(ProtocolConformance, CarriesTheLargestMessage) {
  constexpr size_t kRoom = kMessageBytesMax + (4 << 20);
  connect(nullptr, {.bytes = {kRoom, kRoom, 4 << 20}});
  client_->keeps = server_->keeps = false;
  const auto payload = pattern(1, kMessageBytesMax);
  bool good = false;
  server_->on_call = [&](const FrameHeader& header, Bytes bytes) {
    good = std::equal(bytes.begin(), bytes.end(), payload.begin(), payload.end());
    server_->answer(header.call, {});
  };
  client_->call(1, kMessageBytesMax);
  ASSERT_TRUE(until([&] { return client_->frame_count == 1; }));
  EXPECT_TRUE(good);
  client_->keeps = true;
  server_->on_call = [&](const FrameHeader& header, Bytes) {
    server_->answer(header.call, payload);
  };
  client_->call(1, 64);
  ASSERT_TRUE(until([&] { return client_->frame_count == 2; }));
  EXPECT_TRUE(client_->frames.back().payload == payload);
}

TEST_P(ProtocolConformance, KeepsTheOrderOfManyOfAllSizes) {
  constexpr uint64_t kCalls = 400;
  connect();
  std::minstd_rand random(7);
  std::vector<size_t> bytes;
  for (uint64_t i = 0; i < kCalls; ++i) {
    constexpr size_t kKinds[] = {0, 20, 900, 1100, 5000, 100'000};
    bytes.push_back(kKinds[random() % 6] + random() % 16);
  }
  for (uint64_t i = 0; i < kCalls; ++i) {
    client_->call(i + 1, bytes[i]);
    if (random() % 8 == 0) client_->iterate();
    if (random() % 8 == 0) server_->iterate();
  }
  ASSERT_TRUE(until([&] { return client_->frames.size() == kCalls; }));
  for (uint64_t i = 0; i < kCalls; ++i) expect_answer(i, i + 1, bytes[i]);
  client_->lane->settle();
  server_->lane->settle();
  ASSERT_TRUE(until([&] { return client_->lane->idle() && server_->lane->idle(); }));
}

TEST_P(ProtocolConformance, OneWayMessagesNeverOverrunTheReceiver) {
  constexpr uint64_t kMessages = 3000;
  connect();
  for (uint64_t i = 0; i < kMessages; ++i) {
    client_->call(i + 1, 64, 0);
    if (i % 64 == 63) client_->iterate();
    if (i % 256 == 255) server_->iterate();
  }
  ASSERT_TRUE(until([&] { return server_->frames.size() == kMessages; }));
  for (uint64_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(server_->frames[i].header.call, i + 1);
    ASSERT_TRUE(server_->frames[i].payload == pattern(i + 1, 64));
  }
  client_->lane->settle();
  EXPECT_TRUE(until([&] { return client_->lane->idle(); }));
}

TEST_P(ProtocolConformance, IsCongestedWhileTooMuchWaitsAndThenServesTheStreamsThatWait) {
  connect();
  uint64_t number = 0;
  while (!client_->lane->congested()) {
    client_->call(++number, 900, 0);
    client_->lane->flush();
    ASSERT_LT(number, 10'000u);
  }
  Waiter waiter([&] { client_->call(++number, 900, 0); });
  EXPECT_EQ(client_->lane->turns().budget(waiter), 0u);
  ASSERT_TRUE(until([&] { return waiter.turns == 1; }));
  EXPECT_FALSE(client_->lane->congested());
  EXPECT_TRUE(until([&] { return server_->frames.size() == number; }));
}

TEST_P(ProtocolConformance, FramesThatAnswerNothingComeToo) {
  connect();
  for (uint64_t i = 1; i <= 40; ++i) {
    server_->lane->send(
        {.kind = FrameKind::kCredit, .stream = 1, .credit = static_cast<uint32_t>(i)}, {});
  }
  ASSERT_TRUE(until([&] { return client_->frames.size() == 40; }));
  EXPECT_EQ(client_->frames.back().header.credit, 40u);
}

TEST_P(ProtocolConformance, LateAnswersCome) {
  connect([](RdmaLaneOptions& options) {
    options.fetch = {.empty_polls_max = 20, .pushes_until_again = 4};
    options.bitmap.empty_polls_max = 20;
  });
  std::vector<uint64_t> waiting;
  bool late = true;
  server_->on_call = [&](const FrameHeader& header, Bytes payload) {
    if (late) return waiting.push_back(header.call);
    server_->answer(header.call, {payload.begin(), payload.end()});
  };
  // The replies are slow, quick, slow and quick. So a client with a fetch leg asks the server to
  // push replies, then READs again, and so on.
  uint64_t number = 0;
  for (const bool is_late : {true, false, true, false}) {
    late = is_late;
    for (int round = 0; round < 12; ++round) {
      const uint64_t first = number + 1;
      for (int i = 0; i < 5; ++i) client_->call(++number, i == 4 ? 6000 : 40);
      if (late) {
        ASSERT_TRUE(until([&] { return waiting.size() == 5; }));
        for (int i = 0; i < 200; ++i) {
          client_->iterate();
          server_->iterate();
        }
        for (const uint64_t call : waiting) server_->answer(call, pattern(call, 40));
        waiting.clear();
      }
      ASSERT_TRUE(until([&] { return client_->frames.size() == number; })) << number;
      for (uint64_t call = first; call <= number; ++call) {
        ASSERT_EQ(client_->frames[call - 1].header.call, call);
      }
    }
  }
  if (row(GetParam().protocol->response).replies) {
    EXPECT_GE(server_->lane->sender().fetch_epoch_there(), 3)
        << "it has stopped to READ, and begun again";
  }
  // When all calls are answered, neither side has anything to poll for.
  EXPECT_TRUE(until([&] { return !client_->lane->wants_poll() && !server_->lane->wants_poll(); }));
}

TEST_P(ProtocolConformance, SendsFromMemoryThatIsLent) {
  constexpr size_t kPiece = 20'000;
  connect();
  const SharedMemory memory = *SharedMemory::create("lent", 64 * kPiece);
  const auto region = *client_->fabric->register_memory(memory, {.read = true});
  std::vector<uint64_t> numbers;
  const auto bytes_of = [](uint64_t i) { return i % 3 == 0 ? kPiece : i * 17; };
  for (uint64_t i = 0; i < 60; ++i) {
    const std::span<std::byte> piece = memory.bytes().subspan(i * kPiece, bytes_of(i));
    std::ranges::copy(pattern(i, piece.size()), piece.begin());
    numbers.push_back(client_->lane->send_zero_copy(
        {.kind = FrameKind::kCall, .flags = kLastPiece, .replies = 1, .stream = 1, .call = i + 1},
        range_of(*region, piece)));
  }
  ASSERT_TRUE(until([&] { return client_->frames.size() == 60; }));
  client_->lane->settle();
  ASSERT_TRUE(until([&] { return client_->returned.size() == 60; }));
  std::ranges::sort(client_->returned);  // the lane returns small ranges before large ones
  EXPECT_EQ(client_->returned, numbers);
  for (uint64_t i = 0; i < 60; ++i) {
    ASSERT_EQ(server_->frames[i].header.call, i + 1);
    ASSERT_TRUE(server_->frames[i].payload == pattern(i, bytes_of(i)));
    ASSERT_TRUE(client_->frames[i].payload == pattern(i, bytes_of(i)));
  }
  client_->lane.reset();  // destroyed before the memory that it borrowed
}

// Tests a hostile client, which posts requests that the protocol does not use. Its READ of the
// server's slots must succeed only if a leg of the protocol READs there, and its atomic must fail.
TEST_P(ProtocolConformance, GivesAPeerNoRightThatItsLegsDoNotNeed) {
  for (const Opcode opcode : {Opcode::kRead, Opcode::kFetchAdd}) {
    client_ = std::make_unique<LaneSide>(GetParam().open);
    server_ = std::make_unique<LaneSide>(GetParam().open);
    RdmaLaneOptions options = options_for(*GetParam().protocol, *GetParam().protocol);
    client_->make_lane(options);
    std::swap(options.out, options.in);
    server_->make_lane(options);
    const auto cq = std::move(*client_->fabric->create_completion_queue(16));
    const auto hostile = std::move(*client_->fabric->create_queue_pair(
        {.send_cq = *cq, .recv_cq = *cq, .srq = client_->poller->receive_queue()}));
    LaneOffer offer = client_->lane->offer();
    offer.queue_pair = hostile->address();
    ASSERT_TRUE(server_->lane->connect(offer));
    const LaneOffer attacked = server_->lane->offer();
    ASSERT_TRUE(hostile->connect(attacked.queue_pair));
    const Buffer own = *client_->arena->take(Purpose::kControl, 8);
    const Segment into{own.bytes().data(), 8, own.lkey()};
    const WorkRequest work{.opcode = opcode,
                           .segments = {&into, 1},
                           .remote_address = attacked.slots.address,
                           .rkey = attacked.slots.rkey};
    ASSERT_EQ(hostile->post({&work, 1}), 1u);
    std::array<Completion, 1> done;
    ASSERT_TRUE(until([&] { return cq->poll(done) != 0; }));
    const bool permitted = opcode == Opcode::kRead && access_for(options.out, options.in).read;
    EXPECT_EQ(done[0].status, permitted ? Status::kSuccess : Status::kRemoteInvalid);
  }
}

// Tests a borrowed range in memory that no peer can access, such as an application's ring. The lane
// must return the range when this side has sent the request, before the call is answered.
TEST_P(ProtocolConformance, GivesOwnMemoryBackOnceItHasLeft) {
  constexpr size_t kPiece = 60'000;
  connect();
  server_->keeps = false;
  const SharedMemory memory = *SharedMemory::create("own", kPiece);
  {
    const auto own = *client_->fabric->register_own(memory.bytes());
    const BorrowedRange borrowed{{memory.bytes().data(), kPiece, own->lkey()}};
    for (uint64_t i = 1; i <= 100; ++i) {
      std::ranges::copy(pattern(i, kPiece), memory.bytes().begin());
      client_->lane->send_zero_copy(
          {.kind = FrameKind::kCall, .flags = kLastPiece, .replies = 1, .stream = 1, .call = i},
          borrowed);
      ASSERT_TRUE(until([&] { return client_->returned.size() == i; }));
      std::ranges::fill(memory.bytes(), std::byte{0});
      ASSERT_TRUE(until([&] { return client_->frame_count == i; }));
      ASSERT_TRUE(client_->frames.back().payload == pattern(i, kPiece)) << i;
    }
    client_->lane.reset();
  }
}

// Tests a borrowed range, in memory that no peer can access, as the payload of a reply. The lane
// must return the range although with a fetch leg no completion shows that the client has READ the
// reply.
TEST_P(ProtocolConformance, GivesOwnMemoryOfAnswersBackOnceItHasLeft) {
  constexpr uint32_t kPiece = 60'000;
  connect(
      [](RdmaLaneOptions& options) { options.out.slot_bytes = options.in.slot_bytes = 64 * 1024; });
  const SharedMemory memory = *SharedMemory::create("own", kPiece);
  const auto own = *server_->fabric->register_own(memory.bytes());
  server_->on_call = [&](const FrameHeader& call, Bytes) {
    server_->lane->send_zero_copy(
        {.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = call.call},
        {{memory.bytes().data(), kPiece, own->lkey()}});
  };
  for (uint64_t i = 1; i <= 100; ++i) {
    std::ranges::copy(pattern(i, kPiece), memory.bytes().begin());
    client_->call(i, 50);
    ASSERT_TRUE(until([&] { return server_->returned.size() == i; })) << i;
    std::ranges::fill(memory.bytes(), std::byte{0});
    ASSERT_TRUE(until([&] { return client_->frames.size() == i; })) << i;
    ASSERT_TRUE(client_->frames.back().payload == pattern(i, kPiece)) << i;
  }
  server_->lane.reset();  // destroyed before the memory that it borrowed
}

TEST_P(ProtocolConformance, WaitsForBuffersInTheirOrder) {
  connect(nullptr, {.bytes = {700 << 10, 700 << 10, 4 << 20}});
  for (uint64_t i = 1; i <= 30; ++i) client_->call(i, 200'000);
  ASSERT_TRUE(until([&] { return client_->frames.size() == 30; }));
  for (uint64_t i = 1; i <= 30; ++i) expect_answer(i - 1, i, 200'000);
}

TEST_P(ProtocolConformance, GivesAllItsMemoryBack) {
  client_ = std::make_unique<LaneSide>(GetParam().open);
  server_ = std::make_unique<LaneSide>(GetParam().open);
  const RdmaLaneOptions options = options_for(*GetParam().protocol, *GetParam().protocol);
  const auto free = [](LaneSide& side) {
    return std::array{side.arena->free_bytes(Purpose::kReceive),
                      side.arena->free_bytes(Purpose::kSend)};
  };
  const auto before = free(*client_);
  for (int round = 0; round < 3; ++round) {
    join(*client_, *server_, options);
    // Makes calls, so that messages are in flight when the lanes end.
    for (uint64_t i = 1; i <= 20; ++i) client_->call(i, i % 2 == 0 ? 50 : 70'000);
    for (int turn = 0; turn < round * 8; ++turn) {
      client_->iterate();
      server_->iterate();
    }
    client_->lane.reset();
    server_->lane.reset();
    EXPECT_EQ(free(*client_), before);
    EXPECT_EQ(free(*server_), before);
  }
}

TEST_P(ProtocolConformance, ReportsWhatBecameOfEachFrame) {
  connect();
  uint64_t delivered = 0;
  for (uint64_t i = 1; i <= 5; ++i) delivered = client_->call(i, 100);
  ASSERT_TRUE(until([&] { return client_->frames.size() == 5; }));
  client_->lane->settle();
  ASSERT_TRUE(until([&] { return client_->lane->idle(); }));
  std::vector<uint64_t> numbers;
  server_->keeps = true;
  const size_t before = server_->frames.size();
  for (uint64_t i = 6; i <= 60; ++i) numbers.push_back(client_->call(i, i % 5 == 0 ? 3000 : 100));
  client_->lane->flush();
  server_->iterate();
  const uint64_t seen = server_->frames.size() - before;
  server_->lane->end("the test ends it");
  // A device notices that the other queue pair is gone only when a request gets no answer, so the
  // test sends probes.
  ASSERT_TRUE(until([&] {
    client_->lane->probe();
    return !client_->down.empty();
  }));
  EXPECT_EQ(client_->down.size(), 1u);
  EXPECT_EQ(server_->down.size(), 1u);
  EXPECT_EQ(client_->lane->fate(delivered), Fate::kDelivered);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Fate fate = client_->lane->fate(numbers[i]);
    EXPECT_NE(fate, i < seen ? Fate::kNotDelivered : Fate::kDelivered) << i;
  }
  EXPECT_EQ(client_->lane->fate(numbers.back()), Fate::kNotDelivered);
}

}  // namespace hat::engine
