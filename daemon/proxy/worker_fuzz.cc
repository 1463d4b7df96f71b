// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/worker_fuzz.cc: fuzzes one worker with clients, peers and servers that send
// anything, in any order; once all of them are gone, the worker must hold nothing.
//
// The input is a sequence of steps: a byte for the operation, then its arguments. An argument
// chooses a byte stream by its age.
#include <fcntl.h>
#include <glog/logging.h>

#include <cstdio>
#include <cstdlib>

#include "daemon/proxy/fake_node.h"
#include "daemon/proxy/fake_successor.h"
#include "tests/fuzz/input.h"

namespace hat {
namespace {

using engine::FrameHeader;
using engine::FrameKind;

constexpr size_t kWiresMax = 48;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "worker_fuzz: %s\n", what);
  std::abort();
}

// Returns a framed binary message of type `type`, of function get and with sequence id 1.
std::string message_bytes(char type) {
  std::string message("\x80\x01\x00\x00\x00\x00\x00\x03get\x00\x00\x00\x01\x00", 16);
  message[3] = type;
  return std::string("\x00\x00\x00", 3) + static_cast<char>(message.size()) + message;
}

class Run {
 public:
  Run(const uint8_t* data, size_t size) : input_(data, size) {}

  void all() {
    while (!input_.empty() && node_.reactor.wires.size() < kWiresMax) step();
    end_everyone();
    require(nobody_left(), "a connection is left");
    require(node_.counters.buffered_bytes.value() == 0, "bytes are counted as held, and are not");
  }

 private:
  FakeNode::Wire any_wire() {
    const auto& wires = node_.reactor.wires;
    return wires[wires.size() - 1 - input_.next() % wires.size()];
  }

  void step() {
    switch (input_.next() % 16) {
      case 0:
        node_.connect_client();
        return;
      case 1:
        node_.connect_link();
        return;
      case 2:
        return receive(any_wire(), hello_bytes("host-b", input_.next() % 2 == 0 ? "host-a" : ""));
      case 3:
        return receive(any_wire(), message_bytes(static_cast<char>(input_.next() % 5)));
      case 4:
        return receive(any_wire(), any_frame());
      case 5:
        return receive(any_wire(), call_frame());
      case 6:
        return receive(any_wire(), open_frame());
      case 7:
        node_.reactor.end_iteration();
        return;
      case 8:
        node_.reactor.advance(std::chrono::milliseconds(input_.next() * 10));
        return;
      case 9:
        any_wire()->space = size_t{input_.next()} * input_.next();
        return;
      case 10: {
        const auto wire = any_wire();
        wire->space = SIZE_MAX;
        return let_write(wire);
      }
      case 11: {
        const auto wire = any_wire();
        wire->end = true;
        return receive(wire, "");
      }
      case 12: {
        const auto wire = any_wire();
        wire->error = ECONNRESET;
        let_write(wire);
        return receive(wire, "");
      }
      case 13:
        return change_processes();
      case 14: {
        const auto wire = any_wire();
        wire->write_error = EPIPE;
        return let_write(wire);
      }
      default: {
        const auto wire = any_wire();
        receive(wire, input_.next_bytes());
      }
    }
  }

  // Begins a drain, begins or ends a takeover, sets whether the predecessor can send connections,
  // or gives a connection a descriptor, without which the connection cannot move.
  void change_processes() {
    const uint8_t what = input_.next();
    if (what == 255) return node_.worker->begin_drain();
    if (what >= 250) {
      const auto successor = std::make_shared<FakeSuccessor>();
      successor->answer = static_cast<Successor::Answer>(what % 3);
      return node_.worker->begin_hand_over(successor);
    }
    if (what >= 245) return node_.worker->end_hand_over();
    if (what >= 240) return node_.detached.expect_more(what % 2 == 0);
    any_wire()->descriptors = {null_.get()};
  }

  // Returns a token that the worker sent on some link, or an empty text.
  std::string any_token() {
    const std::string written = any_wire()->written;
    for (size_t at = 0; at + sizeof(FrameHeader) <= written.size();) {
      FrameHeader header;
      std::memcpy(&header, written.data() + at, sizeof header);
      at += sizeof header + header.payload_bytes;
      if (header.kind == FrameKind::kDetached && at <= written.size()) {
        return written.substr(at - header.payload_bytes, header.payload_bytes);
      }
    }
    return "";
  }

  std::string any_frame() {
    FrameHeader header{.kind = static_cast<FrameKind>(input_.next() % 34)};
    header.flags = input_.next() & engine::kFlagsKnown;
    header.replies = input_.next() % 4;
    header.stream = input_.next() % 4;
    header.call = input_.next() % 8;
    header.credit = input_.next() * 0x1010101u;
    const uint8_t payload = input_.next();
    if (payload % 3 == 0) return frame_bytes(header, message_bytes(2));
    return frame_bytes(header,
                       std::string(size_t{payload} * (input_.next() + 1), payload % 2 ? 'x' : 0));
  }

  std::string call_frame() {
    const uint8_t shape = input_.next();
    FrameHeader header{.kind = FrameKind::kCall, .flags = static_cast<uint8_t>(shape & 1)};
    header.replies = (shape >> 1) & 3;
    header.stream = 1 + ((shape >> 3) & 3);
    header.call = 1 + input_.next() % 16;
    return frame_bytes(header, call_meta("get", 1) + message_bytes(1));
  }

  std::string open_frame() {
    const uint8_t which = input_.next();
    const std::string service = which & 8 ? "Pool" : "Kv";
    const uint32_t stream = 1u + which % 4;
    if (which & 16) {
      return frame_bytes({.kind = FrameKind::kAttach, .stream = stream}, any_token() + service);
    }
    return frame_bytes({.kind = FrameKind::kOpen, .stream = stream}, service);
  }

  void receive(const FakeNode::Wire& wire, const std::string& bytes) {
    wire->incoming += bytes;
    FakeNode::read(wire);
    if (input_.next() % 2 == 0) node_.reactor.end_iteration();
  }

  static void let_write(const FakeNode::Wire& wire) {
    if (!wire->closed && wire->writing) wire->events->on_writable();
  }

  bool nobody_left() const {
    return node_.counters.connections_open.value() == 0 &&
           node_.counters.upstream.open.value() == 0;
  }

  // Breaks all byte streams, including new ones, until every time-out has passed.
  void end_everyone() {
    // Connections without descriptors cannot be handed over, and wait for the end of the takeover.
    node_.worker->end_hand_over();
    // The first round always runs, because it ends the links, which nobody_left() does not count.
    for (int round = 0; round == 0 || (round < 20 && !nobody_left()); ++round) {
      for (const auto& wire : std::vector(node_.reactor.wires)) {  // a copy: the loop can add wires
        wire->error = ECONNRESET;
        let_write(wire);
        if (!wire->closed && wire->reading) wire->notify_readable();
      }
      node_.reactor.end_iteration();
      node_.reactor.advance(std::chrono::seconds(2));
    }
    node_.reactor.end_iteration();  // deletes what has ended
  }

  FuzzInput input_;
  const Descriptor null_{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  FakeNode node_;
};

}  // namespace
}  // namespace hat

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FLAGS_minloglevel = google::GLOG_FATAL;  // else the worker logs each breach of a protocol
  hat::Run(data, size).all();
  return 0;
}
