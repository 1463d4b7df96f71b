// SPDX-License-Identifier: Apache-2.0
// engine/link/lane_set_fuzz.cc: fuzzes the frames by which two daemons create RDMA lanes (RDMA
// connections). The fuzzer changes, drops, repeats and invents such frames on their way between the
// two sides of a link. Each side must end each lane exactly once, with a reason, and must send only
// valid frames. As long as the fuzzer has not changed a LaneOffer, a lane must deliver what was
// sent on that lane.
//
// Input    a series of steps; each step is a byte that chooses the operation, then the arguments of
//          that operation.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/link/lane_set.h"
#include "tests/fake_reactor.h"
#include "tests/fuzz/input.h"

namespace hat::engine {
namespace {

constexpr uint32_t kLanesMax = 3;
constexpr int kStepsMax = 300;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "lane_set_fuzz: %s\n", what);
  std::abort();
}

struct ControlFrame {
  FrameHeader header;
  std::string payload;
};

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Checks that a payload that can be decoded is equal to the encoding of the decoded value.
void check_payload(const ControlFrame& frame) {
  const auto same = [&](const auto& decoded) {
    return !decoded || std::ranges::equal(encode(*decoded), bytes_of(frame.payload));
  };
  const Bytes payload = bytes_of(frame.payload);
  require(same(decode_lane_accept(payload)), "a LaneAccept has two encodings");
  require(same(decode_lane_offer(payload)), "a LaneOffer has two encodings");
  if (const auto open = decode_lane_open(payload)) {
    const auto again = decode_lane_open(encode(*open));
    require(again && again->reach == open->reach, "a LaneOpen is not what it encodes to");
  }
}

// Stands for the session's TCP connection: keeps sent frames until the fuzzer passes them on.
struct Control final : Lane {
  uint64_t send(FrameHeader header, std::initializer_list<Bytes> pieces) override {
    std::string payload;
    for (const Bytes piece : pieces) {
      payload.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    header.payload_bytes = static_cast<uint32_t>(payload.size());
    require(invalid(header) == nullptr, "an invalid frame was sent");
    frames.push_back({header, payload});
    check_payload(frames.back());
    return ++sent;
  }
  Fate fate(uint64_t) const override { return Fate::kUnknown; }
  bool congested() const override { return false; }
  bool broken() const override { return false; }
  bool idle() const override { return true; }
  void flush() override {}

  std::deque<ControlFrame> frames;
  uint64_t sent = 0;
};

// One side of the link, with records of what this side sent and received on each lane.
class Side final : public LaneSetEvents {
 public:
  Side(FakeReactor& reactor, Session::Role role)
      : host_(
            std::move(*RdmaHost::create(reactor, *open_loop_fabric(),
                                        {.arena = {.bytes = {256 << 10, 256 << 10, 512 << 10}}}))),
        role_(role),
        set(reactor, *host_, role, control, {.lane = {}, .lanes_max = kLanesMax, .nonces = true},
            *this) {}

  Result<LaneShape> on_lane_wanted(const LaneWish& wish) override {
    if (wish.back.slots > 64) return fail(ErrorCode::kExhausted, "too many slots");
    return wish.back;
  }
  void on_lane_up(LaneSet&, uint32_t lane) override {
    require(!up_.contains(lane), "a lane came up twice");
    up_[lane];
  }
  void on_lane_message(LaneSet&, uint32_t lane, const FrameHeader& header, Bytes payload,
                       Leg) override {
    require(up_.contains(lane), "a message of a lane that is not up");
    require(header.payload_bytes == payload.size(), "a payload of another length than its header");
    up_[lane].received.emplace_back(reinterpret_cast<const char*>(payload.data()), payload.size());
  }
  void on_lane_down(LaneSet&, uint32_t lane, bool was_up, const std::string& reason) override {
    require(!reason.empty(), "a lane went down for no reason");
    require(was_up == up_.contains(lane), "was_up is wrong");
    require(was_up || role_ == Session::Role::kInitiator, "the end of a lane that nobody knew");
    if (was_up) ended_.insert(up_.extract(lane));
  }

  void send(uint32_t number, size_t size) {
    RdmaLane* lane = set.lane(number);
    if (lane == nullptr || lane->broken() || lane->congested()) return;
    const std::string payload(size, static_cast<char>('a' + next_++ % 26));
    sent[number].push_back(payload);
    lane->send({.kind = FrameKind::kRaw, .stream = 1}, {bytes_of(payload)});
  }
  void turn() {
    set.flush();
    host_->take_fabric_events();
    require(set.size() <= kLanesMax || role_ == Session::Role::kInitiator, "too many lanes");
  }
  // Checks that `other` sent, in the same order, each message that this side received on a lane.
  void check_received(const Side& other) const {
    const auto check = [&](const auto& lanes) {
      for (const auto& [number, lane] : lanes) {
        const auto found = other.sent.find(number);
        const size_t count = found == other.sent.end() ? 0 : found->second.size();
        require(lane.received.size() <= count, "a message that nobody sent");
        for (size_t i = 0; i < lane.received.size(); ++i) {
          require(lane.received[i] == found->second[i], "another message than was sent");
        }
      }
    };
    check(up_);
    check(ended_);
  }

 private:
  struct Life {
    std::vector<std::string> received;
  };

  std::unique_ptr<RdmaHost> host_;
  const Session::Role role_;
  std::map<uint32_t, Life> up_;
  std::multimap<uint32_t, Life> ended_;
  uint32_t next_ = 0;

 public:
  Control control;
  std::map<uint32_t, std::vector<std::string>> sent;
  LaneSet set;
};

class Run {
 public:
  explicit Run(FuzzInput& input)
      : input_(input),
        initiator_(reactor_, Session::Role::kInitiator),
        acceptor_(reactor_, Session::Role::kAcceptor) {}

  void steps() {
    for (int i = 0; i < kStepsMax && !input_.empty(); ++i) step();
    if (!tampered_) {
      initiator_.check_received(acceptor_);
      acceptor_.check_received(initiator_);
    }
    initiator_.set.end("the link ended");
    acceptor_.set.end("the link ended");
    require(initiator_.set.size() == 0 && acceptor_.set.size() == 0, "lanes outlive their link");
  }

 private:
  void step() {
    const uint8_t choice = input_.next();
    Side& from = (choice & 0x80) != 0 ? acceptor_ : initiator_;
    Side& to = &from == &acceptor_ ? initiator_ : acceptor_;
    switch (choice & 0x0f) {
      case 0:
        return open();
      case 1:
        return carry(from, to);
      case 2:
        return carry_changed(from, to);
      case 3:
        return invent(to);
      case 4:
        (void)lose(from);
        return;
      case 5:
        return repeat(from);
      case 6:
        from.set.close(input_.next() % 8, "the test closes it");
        return;
      case 7:
        reactor_.advance(std::chrono::milliseconds(input_.next() * 40));
        return;
      case 8:
        return from.send(input_.next() % 8, size_t{input_.next()} * 37);
      case 9:
        (void)from.set.all_taken();
        return;
      default:
        return turn();
    }
  }
  // Opens a lane unless kLanesMax lanes are open: more lanes would only test the use of memory.
  void open() {
    if (initiator_.set.size() > kLanesMax) return;
    initiator_.set.open({static_cast<LaneClass>(input_.next() % 2), shape(), shape()});
  }
  LaneShape shape() {
    const uint8_t small = input_.next();
    const uint8_t size = input_.next();
    LaneShape shape{.leg = static_cast<Leg>(small % kLegCount),
                    .slots = static_cast<uint16_t>(4u << (small >> 6)),
                    .slot_bytes = 64 + size * 8u};
    if (invalid(shape) != nullptr) shape.leg = Leg::kSend;
    return shape;
  }
  void carry(Side& from, Side& to) {
    if (from.control.frames.empty()) return;
    deliver(to, lose(from));
  }
  void carry_changed(Side& from, Side& to) {
    if (from.control.frames.empty()) return;
    ControlFrame frame = lose(from);
    for (int changes = input_.next() % 4; changes >= 0 && !frame.payload.empty(); --changes) {
      const size_t at = (input_.next() * 256u + input_.next()) % frame.payload.size();
      frame.payload[at] = static_cast<char>(frame.payload[at] ^ input_.next());
    }
    frame.payload.resize(frame.payload.size() -
                         std::min<size_t>(frame.payload.size(), input_.next() % 8u / 7u));
    tampered_ = true;
    deliver(to, frame);
  }
  void invent(Side& to) {
    constexpr FrameKind kKinds[] = {FrameKind::kLaneOpen, FrameKind::kLaneAccept,
                                    FrameKind::kLaneReady, FrameKind::kLaneUp,
                                    FrameKind::kLaneClose};
    ControlFrame frame{
        {.kind = kKinds[input_.next() % std::size(kKinds)], .stream = input_.next() % 8u},
        input_.next_bytes()};
    tampered_ = true;
    deliver(to, frame);
  }
  ControlFrame lose(Side& from) {
    if (from.control.frames.empty()) return {};
    ControlFrame frame = std::move(from.control.frames.front());
    from.control.frames.pop_front();
    return frame;
  }
  static void repeat(Side& from) {
    if (!from.control.frames.empty()) from.control.frames.push_back(from.control.frames.front());
  }
  static void deliver(Side& to, ControlFrame frame) {
    frame.header.payload_bytes = static_cast<uint32_t>(frame.payload.size());
    if (invalid(frame.header) != nullptr) return;  // a real session would end the link here
    check_payload(frame);
    to.set.on_lane_frame(frame.header, bytes_of(frame.payload));
  }
  void turn() {
    initiator_.turn();
    acceptor_.turn();
    reactor_.end_iteration();
  }

  FuzzInput& input_;
  FakeReactor reactor_;
  Side initiator_;
  Side acceptor_;
  bool tampered_ = false;  // an offer was changed, so lanes can carry anything from now on
};

}  // namespace
}  // namespace hat::engine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hat::FuzzInput input(data, size);
  hat::engine::Run(input).steps();
  return 0;
}
