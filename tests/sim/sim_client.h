// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_client.h: a simulated client application: it opens one connection after another,
// sends calls, and compares each answer with the only correct answer.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "tests/sim/call_book.h"
#include "tests/sim/sim_reactor.h"

namespace hat::sim {

// The calls and connections that a client makes.
// Members  Each boolean of the plan is chosen by itself.
struct ClientPlan {
  Address endpoint;
  std::string service;
  bool mirrored = false;  // the service is in mirror mode
  Dialect dialect = kDialects[0];
  size_t calls = 10;  // in total
  size_t calls_per_connection = 10;
  size_t depth = 1;           // how many two-way calls may be unanswered at the same time
  size_t calls_out_max = 40;  // the daemon's least limit of unanswered calls per connection
  uint64_t request_bytes_min = 0;
  uint64_t request_bytes_max = 1000;
  uint64_t reply_bytes_min = 0;
  uint64_t reply_bytes_max = 1000;
  uint32_t oneway_percent = 10;     // of all calls: those that are oneway
  uint32_t possible_percent = 50;   // of oneway calls of unlisted functions: those of ordinary type
  uint32_t timed_percent = 30;      // of two-way calls: those of the function "timed" (kTimeout)
  uint32_t bad_server_percent = 0;  // of two-way calls: those that get no complete reply
  uint32_t slow_percent = 0;        // of reads: those after which the client pauses
  bool is_even = false;             // begins at once, and makes only calls that are alike
  bool half_closes = false;         // shuts down its sending side before the last answers
  bool of_liar = false;             // the server is hostile
  uint32_t leaves_percent = 0;      // of answers: those after which the client closes
  bool stays_on_lane = false;       // the calls of a connection use one RDMA lane, one at a time
};

// A client application that makes the calls of its plan.
// Members  The booleans are the state of the current connection, except `orderly_ends_`,
//          `keeps_connection_` and `done_`, which are about the whole client.
class SimClient final : public StreamEvents {
 public:
  // The time-out of the function "timed".
  static constexpr Duration kTimeout = std::chrono::milliseconds(300);

  SimClient(SimNetwork& network, CallBook& book, ClientPlan plan, const std::string& name,
            uint64_t seed);

  void start();
  bool done() const { return done_; }
  // Returns how many calls of the plan were begun and are no longer in flight.
  size_t calls_ended() const { return plan_.calls - calls_left_ - outstanding_.size(); }
  // Allows the current connection to end at any time, because the simulation stops the daemon.
  void expect_disturbance() { disturbed_ = true; }
  // Requires that a connection ends only after each call that a server has read is answered, as a
  // drain promises.
  void expect_orderly_ends() { orderly_ends_ = true; }
  // Keeps the last connection open after all calls are done. This is the mistake of a canary.
  void keep_connection() { keeps_connection_ = true; }
  std::string what_it_waits_for() const;

 private:
  void on_readable() override;
  void on_writable() override;
  void connect();
  void fill();
  void add_call();
  void push();
  void take_answers();
  void pause_reading();
  void after_answer();
  void on_end(const std::string& how, bool reset);
  bool may_end(bool reset) const;
  bool may_be_bytes() const;
  SimCall* oneway_that(const Message& message) const;
  void leave(bool abort);
  void next_connection();

  SimNetwork& network_;
  CallBook& book_;
  SimHost host_;
  const ClientPlan plan_;
  Random random_;
  size_t calls_left_;
  size_t calls_left_here_ = 0;
  uint64_t connection_ = 0;
  std::deque<SimCall*> outstanding_;  // two-way calls, in the order of their answers
  std::vector<SimCall*> oneways_;     // the oneway calls of this connection
  uint64_t last_answered_ = 0;        // id of the two-way call that was answered last
  std::string in_;
  std::string out_;
  bool connected_ = false;
  bool has_reply_ = false;  // the server has replied to the last call of this connection
  bool said_end_ = false;
  bool disturbed_ = false;
  bool bytes_ = false;  // the daemon may carry the current connection byte for byte
  bool orderly_ends_ = false;
  bool keeps_connection_ = false;
  bool done_ = false;
  std::unique_ptr<Timer> next_;
  std::unique_ptr<Timer> read_on_;
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<ByteStream> ended_;  // deleted later, because its callback may be running
};

}  // namespace hat::sim
