// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/fake_pool.h: a base class for tests of a service in shared mode. The tests
// play the peer and the server: they send and read bytes as the peer and the server would.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "daemon/proxy/fake_node.h"

namespace hat {

// Returns the 4 bytes of `value`, most significant byte first.
inline std::string length_word(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

// Returns a framed message in the strict binary encoding. `body` is its struct, empty by default.
inline std::string strict_message(thrift::MessageType type, const std::string& name, int32_t seqid,
                                  const std::string& body = std::string(1, '\0')) {
  const std::string all = length_word(0x80010000u | static_cast<uint8_t>(type)) +
                          length_word(static_cast<uint32_t>(name.size())) + name +
                          length_word(static_cast<uint32_t>(seqid)) + body;
  return length_word(static_cast<uint32_t>(all.size())) + all;
}

// Returns an encoded struct with one field, a string of `bytes` bytes.
inline std::string with_text(uint32_t bytes) {
  return std::string("\x0b\x00\x01", 3) + length_word(bytes) + std::string(bytes, 'x') + '\0';
}

// Returns the 32-bit number at offset `at`, most significant byte first.
inline uint32_t word_at(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}
// Returns the sequence id of the first request in `bytes`. The request may be incomplete.
inline int32_t id_in(std::string_view bytes) {
  return static_cast<int32_t>(word_at(bytes, 12 + word_at(bytes, 8)));
}

struct SeenRequest {
  std::string name;
  int32_t id;
};
// Returns the complete requests in `bytes`, which a server has received.
inline std::vector<SeenRequest> requests_in(std::string_view bytes) {
  std::vector<SeenRequest> all;
  while (bytes.size() >= 4 && bytes.size() - 4 >= word_at(bytes, 0)) {
    all.push_back({std::string(bytes.substr(12, word_at(bytes, 8))), id_in(bytes)});
    bytes.remove_prefix(4 + word_at(bytes, 0));
  }
  return all;
}

// A node with one link from a peer, which has opened four streams of service Pool. Pool has two
// shared upstream connections. Its listed functions are get, put, and note, which is oneway.
class PooledCallTest : public testing::Test {
 protected:
  explicit PooledCallTest(const Limits& limits = without_pings()) : node_(limits) {
    node_.receive(link_, hello_bytes("host-b", "host-a"));
    for (uint32_t stream = 1; stream <= 4; ++stream) {
      node_.receive(link_,
                    frame_bytes({.kind = engine::FrameKind::kOpen, .stream = stream}, "Pool"));
    }
    link_->written.clear();
    first_server_ = node_.reactor.wires.size();
  }

  // Sends the first piece of a request as the peer.
  void send(uint32_t stream, uint64_t call, const std::string& name, const std::string& request,
            uint16_t replies = 1, bool last = true) {
    node_.receive(link_, frame_bytes({.kind = engine::FrameKind::kCall,
                                      .flags = last ? engine::kLastPiece : uint8_t{0},
                                      .replies = replies,
                                      .stream = stream,
                                      .call = call},
                                     call_meta(name, 7) + request));
  }
  // Sends the next piece of a request on stream 1 as the peer.
  void more(uint64_t call, const std::string& piece, bool last) {
    node_.receive(link_, frame_bytes({.kind = engine::FrameKind::kMore,
                                      .flags = last ? engine::kLastPiece : uint8_t{0},
                                      .replies = 1,
                                      .stream = 1,
                                      .call = call},
                                     piece));
  }
  void call(uint32_t stream, uint64_t call, const std::string& name, int32_t seqid = 7) {
    send(stream, call, name, strict_message(thrift::MessageType::kCall, name, seqid));
  }
  void oneway(uint32_t stream, uint64_t call, const std::string& name) {
    send(stream, call, name, strict_message(thrift::MessageType::kOneway, name, 7), 0);
  }
  // Makes Pool two servers, with at most `connections` shared connections. Returns Pool's settings.
  ServedConfig spread_over_two_servers(uint32_t connections) {
    NodeConfig config = node_.worker->node();
    ServedConfig& pool = config.serves[1];
    pool.kind = NameKind::kAllOfHost;
    pool.connections_max = connections;
    pool.addresses = {*parse_address("tcp:10.0.0.1:9"), *parse_address("tcp:10.0.0.2:9")};
    node_.set_node(config);
    return pool;
  }
  size_t servers() const { return node_.reactor.wires.size() - first_server_; }
  // Lets the node write to its connection number `index` to the server, and returns the server's
  // end. 0 is the connection that the node opened first.
  FakeNode::Wire server(size_t index = 0) {
    auto wire = node_.reactor.wires.at(first_server_ + index);
    if (wire->writing) wire->events->on_writable();
    return wire;
  }
  // Replies to the last request that `server` has received.
  void reply(const FakeNode::Wire& server, const std::string& body = std::string(1, '\0')) {
    const SeenRequest last = requests_in(server->written).back();
    node_.receive(server, strict_message(thrift::MessageType::kReply, last.name, last.id, body));
  }
  void give_credit(uint32_t stream, uint32_t bytes) {
    node_.receive(
        link_,
        frame_bytes({.kind = engine::FrameKind::kCredit, .stream = stream, .credit = bytes}));
  }
  // Returns a text for each frame that ended a call or a stream since the last ends(). For call 1
  // of stream 2: "2.1 ends" for the last frame of the reply, "2.1 fails" for a failure, "2.1 none"
  // for a call without a reply. For a reset of stream 2: "2.0 reset".
  std::vector<std::string> ends() {
    std::vector<std::string> all;
    answers_ = std::exchange(link_->written, "");
    for (const engine::FrameHeader& header : headers_in(answers_)) {
      const bool whole = (header.flags & engine::kLastPiece) != 0;
      const bool none = (header.flags & engine::kOutcomeMask) == engine::kNoReply;
      const bool reply =
          header.kind == engine::FrameKind::kReply || header.kind == engine::FrameKind::kMore;
      const std::string what = header.kind == engine::FrameKind::kFail    ? "fails"
                               : header.kind == engine::FrameKind::kReset ? "reset"
                               : !reply || !whole                         ? ""
                               : none                                     ? "none"
                                                                          : "ends";
      if (what.empty()) continue;
      all.push_back(std::to_string(header.stream) + "." + std::to_string(header.call) + " " + what);
    }
    return all;
  }

  FakeNode node_;
  FakeNode::Wire link_ = node_.connect_link();
  size_t first_server_ = 0;
  std::string answers_;  // the bytes that the last ends() has read
};

}  // namespace hat
