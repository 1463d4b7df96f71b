// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/fake_lane_loss.h: base classes for tests of a stream that loses its RDMA lane, while
// the link between the two daemons is up.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "daemon/metrics/function_totals.h"
#include "daemon/proxy/fake_pair.h"

namespace hat {

// One client of a FakePair, whose function `get` wants an RDMA lane.
class LaneLoss : public testing::Test {
 protected:
  static constexpr uint32_t kLane = 1;
  static constexpr uint32_t kStream = 1;

  static FunctionSpec on_a_lane(bool is_oneway = false) {
    FunctionSpec get{.name = "get", .oneway = is_oneway};
    get.hints.both.protocol = "direct_write_imm";
    if (!is_oneway) get.hints.both.timeout = std::chrono::milliseconds(400);
    return get;
  }
  LaneLoss(const FunctionSpec& get, const FakePair::Server& server) : pair_(get, server) {}

  // Lets the client's daemon read what waits on the client's connection.
  void let_read() {
    FakeNode::read(client_);
    pair_.reactor().end_iteration();
  }
  // Returns what the server has received since the last call of this function. In shared mode the
  // server's node chooses the ids of the calls; returns the client's id.
  std::string served() {
    const std::string bytes = std::exchange(pair_.server_connection()->written, {});
    if (bytes.size() != get_call().size()) return bytes;
    id_ = id_in(bytes);
    return with_id(bytes, id_in(get_call()));
  }
  // Lets the server reply to the call that served() has returned last.
  void reply() { pair_.server_replies(with_id(get_reply(), id_)); }
  // Does so too, and returns what the client gets.
  std::string answer() {
    reply();
    return received();
  }

  // Makes one side lose the lane. The other side does not know it yet.
  void lose_at_server() { pair_.server_receives_over_tcp(lane_close()); }
  void lose_at_client() { pair_.receive_over_tcp(lane_close()); }
  void lose() {
    lose_at_server();
    lose_at_client();
  }
  uint64_t resumes() {
    return pair_.caller().counters.peer_events.count("host-b", PeerEvent::kResume);
  }
  uint64_t retries() {
    uint64_t sum = 0;
    for (FunctionMetrics& function : pair_.caller().metrics.all()) {
      sum += total(function, Side::kClient).retries;
    }
    return sum;
  }
  // Lets both sides exchange what they have sent, and read what waits on their connections.
  void exchange() {
    for (int i = 0; i < 2; ++i) {
      pair_.pass(std::chrono::milliseconds(25));
      for (const auto& wire : {client_, pair_.server_connection()}) FakeNode::read(wire);
      pair_.reactor().end_iteration();
    }
    pair_.pass(std::chrono::milliseconds(25));
  }
  // Returns what the client gets while exchange() runs.
  std::string received() {
    exchange();
    return std::exchange(client_->written, {});
  }
  // Does what exchange() does, and returns the kinds of the frames that `link`, one end of the
  // link's TCP connection, sends meanwhile, without those that only give credit.
  std::vector<engine::FrameKind> kinds_during_exchange(const FakePair::WirePointer& link) {
    std::vector<engine::FrameKind> all = kinds_in(link->written);
    for (int i = 0; i < 15; ++i) {
      pair_.pass(std::chrono::milliseconds(5));
      for (const auto& wire : {client_, pair_.server_connection()}) FakeNode::read(wire);
      const auto more = kinds_in(link->written);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }

  std::string id_;
  FakePair pair_;
  const FakePair::WirePointer client_ = pair_.connect_client();

 private:
  static std::string lane_close() {
    return frame_bytes({.kind = engine::FrameKind::kLaneClose, .stream = kLane}, "lost");
  }
  // Returns the sequence id of the first message in `bytes`, as bytes.
  static std::string id_in(const std::string& bytes) {
    return bytes.size() < kIdAt + 4 ? "none" : bytes.substr(kIdAt, 4);
  }
  static std::string with_id(std::string message, const std::string& id) {
    return message.replace(kIdAt, 4, id);
  }
  static constexpr size_t kIdAt = 4 + 4 + 4 + 3;
};

// The client's stream is on the RDMA lane, after two calls.
class Resume : public LaneLoss {
 protected:
  explicit Resume(const FakePair::Server& server = {}) : LaneLoss(on_a_lane(), server) {
    for (int i = 0; i < 2; ++i) {
      pair_.send(client_, get_call());
      pair_.pass(std::chrono::milliseconds(50));
      EXPECT_EQ(served(), get_call());
      EXPECT_EQ(answer(), get_reply());
    }
  }

  // Sends a request, and lets it arrive at the server.
  void begin_call() {
    EXPECT_FALSE(pair_.send(client_, get_call())) << "the lane carries it";
    pair_.pass(std::chrono::milliseconds(50));
    EXPECT_EQ(served(), get_call());
  }
  void expect_that_calls_succeed() {
    pair_.send(client_, get_call());
    exchange();
    EXPECT_EQ(served(), get_call());
    EXPECT_EQ(answer(), get_reply());
    EXPECT_FALSE(client_->closed);
  }
};

}  // namespace hat
