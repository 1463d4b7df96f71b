// SPDX-License-Identifier: Apache-2.0
// engine/link/link_fuzz.cc: fuzzes the bytes that one side of a link receives from its peer over
// TCP, and the way in which these bytes are split into reads. The session must pass on exactly the
// frames that a parser of all received bytes finds, and the session must end with a reason.
//
// Input: the first byte chooses the side. The rest are steps, each one a byte that chooses the
// operation, and the arguments of that operation.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/link/calibration_session.h"
#include "engine/link/link.h"
#include "tests/fake_reactor.h"
#include "tests/fuzz/input.h"

namespace hat::engine {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "link_fuzz: %s\n", what);
  std::abort();
}

// Returns true if a session without RDMA lanes answers or drops frames of this kind and does not
// pass them on.
bool of_the_session(FrameKind kind) {
  return kind == FrameKind::kHello || kind == FrameKind::kRefuse || kind == FrameKind::kPing ||
         kind == FrameKind::kPong || (is_of_link(kind) && kind >= FrameKind::kLaneOpen);
}

// The frames that a session must pass on. The fuzzer finds these frames by parsing all received
// bytes at once.
struct Expected {
  std::vector<std::string> frames;
  bool broken = false;
};

Expected expected_of(std::string_view bytes) {
  Expected expected;
  FrameHeader header;
  for (bool first = true; bytes.size() >= sizeof header; first = false) {
    std::memcpy(&header, bytes.data(), sizeof header);
    if (invalid(header) != nullptr) {
      expected.broken = true;
      break;
    }
    const size_t size = sizeof header + header.payload_bytes;
    if (first && size > TcpLane::kFirstBytes) {
      expected.broken = bytes.size() >= TcpLane::kFirstBytes;
      break;
    }
    if (bytes.size() < size) break;
    const bool hello = header.kind == FrameKind::kHello || header.kind == FrameKind::kRefuse;
    if (hello != first) {
      expected.broken = true;
      break;
    }
    if (!of_the_session(header.kind)) expected.frames.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return expected;
}

// Owns the link or the session under test, and records the frames that it passes on.
class Owner final : public LinkEvents, public SessionEvents {
 public:
  // A link reconnects after a session has ended, but the fuzzer checks only the first session.
  void on_link_up(Link&) override {
    if (!down) came_up();
  }
  void on_link_frame(Link&, const FrameHeader& header, Bytes payload) override {
    if (!down) keep(header, payload);
  }
  void on_link_going_away(Link& link) override { link.agree_to_go_away(); }
  void on_link_down(Link&, bool, const std::string& reason) override {
    if (!down) went_down(reason);
  }
  void defer_delete(std::unique_ptr<Session> session) override {
    deferred_.push_back(std::move(session));
  }

  Result<void> on_hello(Session&) override { return {}; }
  void on_session_up(Session&) override { came_up(); }
  void on_frame(Session&, const FrameHeader& header, Bytes payload) override {
    keep(header, payload);
  }
  void on_session_down(Session&, const std::string& reason) override { went_down(reason); }

  bool up = false;
  bool down = false;
  std::vector<std::string> frames;

 private:
  void came_up() {
    require(!up && !down, "a session came up twice");
    up = true;
  }
  void keep(const FrameHeader& header, Bytes payload) {
    require(up && !down, "a frame outside of a session's life");
    require(header.payload_bytes == payload.size(), "a payload of another length than its header");
    frames.emplace_back(reinterpret_cast<const char*>(&header), sizeof header);
    frames.back().append(reinterpret_cast<const char*>(payload.data()), payload.size());
  }
  void went_down(const std::string& reason) {
    require(!down, "a session went down twice");
    require(!reason.empty(), "a session went down for no reason");
    down = true;
  }

  std::vector<std::unique_ptr<Session>> deferred_;
};

std::string hello_from(const std::string& node, const std::string& peer) {
  const auto hello = encode({.generation = 42, .node = node, .peer = peer});
  const FrameHeader header{.payload_bytes = static_cast<uint32_t>(hello.size()),
                           .kind = FrameKind::kHello};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes.append(reinterpret_cast<const char*>(hello.data()), hello.size());
}

// Answers every second request of the peer for a calibration session (to measure RDMA costs), and
// immediately finishes every second session that it has answered.
class Answerer final : public CostAnswerer {
 public:
  Result<std::shared_ptr<CalibrationJob>> answer(const CostOpen& open) override {
    if (++asked_ % 2 == 0) return fail(ErrorCode::kBusy, "busy");
    auto job = std::make_shared<CalibrationJob>();
    job->offer(open.card);
    if (asked_ % 4 == 1) job->finish(fail(ErrorCode::kSystem, "done"));
    return job;
  }

 private:
  uint32_t asked_ = 0;
};

class Run {
 public:
  Run(const uint8_t* data, size_t size) : input_(data, size) {
    initiator_ = (input_.next() & 1) != 0;
    const SessionOptions options{.node = "host-a",
                                 .peer = initiator_ ? "host-b" : "",
                                 .generation = 1,
                                 .handshake_timeout = std::chrono::seconds(1),
                                 .keepalive_interval = std::chrono::seconds(1),
                                 .keepalive_timeout = std::chrono::seconds(3)};
    const Address address{Address::Kind::kTcp, "127.0.0.1", 9465};
    if (initiator_) {
      link_ =
          std::make_unique<Link>(reactor_, address, options, std::chrono::seconds(1), 7, owner_);
      link_->connect_now();
    } else {
      session_ = std::make_unique<Session>(
          reactor_, Session::Role::kAcceptor, options,
          [&](StreamEvents& events) { return reactor_.connect(address, events); }, owner_);
      costs_ = std::make_unique<CalibrationSession>(reactor_, session_->lane(), &answerer_);
      session_->set_costs(costs_.get());
    }
    wire_ = reactor_.wires.front();
  }

  void all() {
    while (!input_.empty() && !owner_.down) {
      step();
      flush();
    }
    if (unbroken()) judge();
  }

 private:
  void step() {
    switch (input_.next() % 8) {
      case 0:
        return receive(initiator_ ? hello_from("host-b", "") : hello_from("host-b", "host-a"));
      case 1:
        return receive_frame();
      case 2:
        wire_->space = input_.next() * 16;
        return;
      case 3:
        wire_->space = SIZE_MAX;
        if (wire_->writing) wire_->events->on_writable();
        return;
      case 4:
        return pass_time(std::chrono::milliseconds(input_.next() * 10));
      case 5:
        wire_->end = true;
        return receive("");
      case 6: {
        const uint8_t how = input_.next();
        if (how == 0) wire_->error = ECONNRESET;
        if (how == 1) wire_->write_error = EPIPE;
        return receive("");
      }
      default:
        return receive(input_.next_bytes());
    }
  }

  // Makes the session receive a frame with a plausible header, because random bytes seldom pass the
  // check of the header.
  void receive_frame() {
    FrameHeader header{.kind = static_cast<FrameKind>(input_.next() % 27), .stream = input_.next()};
    header.flags = input_.next() & kFlagsKnown;
    header.call = input_.next();
    header.payload_bytes = input_.next() * input_.next();
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes.append(std::min<size_t>(header.payload_bytes, input_.next() * 512), 'x');
    receive(bytes);
  }

  void receive(const std::string& bytes) {
    received_ += bytes;
    wire_->incoming += bytes;
    for (size_t before = SIZE_MAX; wire_->reading && !wire_->closed;) {
      wire_->notify_readable();
      if (wire_->incoming.size() >= before || wire_->incoming.empty()) break;
      before = wire_->incoming.size();
    }
    // The received bytes alone determine what the session must have done, except after an error, a
    // time-out or the end of the stream: the session may then have stopped early.
    if (!wire_->end && unbroken()) judge();
  }

  bool unbroken() const { return wire_->error == 0 && wire_->write_error == 0 && !timed_out_; }

  void pass_time(Duration by) {
    const bool was_down = owner_.down;
    reactor_.advance(by);
    if (!was_down && owner_.down) timed_out_ = true;
  }

  void flush() {
    if (link_) link_->flush();
    if (session_) session_->lane().flush();
    wire_->written.clear();
  }

  void judge() {
    const Expected expected = expected_of(received_);
    if (!owner_.up) {  // the peer's hello was refused or has not arrived yet
      require(owner_.frames.empty(), "a frame before the hello");
      require(owner_.down || !expected.broken, "a session outlives a breach before its hello");
      return;
    }
    require(owner_.frames == expected.frames || link_leaves(expected),
            "the frames differ from those of a reading in one go");
    require(owner_.down || !expected.broken, "a session outlives a breach of the format");
  }

  // Returns true if a Link is under test and the frames that it passed on are equal to the expected
  // frames without kGoAway, which a Link does not pass on.
  bool link_leaves(const Expected& expected) const {
    if (!link_) return false;
    std::vector<std::string> others;
    for (const std::string& frame : expected.frames) {
      FrameHeader header;
      std::memcpy(&header, frame.data(), sizeof header);
      if (header.kind != FrameKind::kGoAway) others.push_back(frame);
    }
    return owner_.frames == others;
  }

  FuzzInput input_;
  bool initiator_ = false;
  bool timed_out_ = false;
  std::string received_;
  FakeReactor reactor_;
  Owner owner_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<Session> session_;
  Answerer answerer_;
  std::unique_ptr<CalibrationSession> costs_;
  std::shared_ptr<FakeStream::Wire> wire_;
};

}  // namespace
}  // namespace hat::engine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hat::engine::Run(data, size).all();
  return 0;
}
