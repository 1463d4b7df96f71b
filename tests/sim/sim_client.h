// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_client.h: an application of the simulation: it opens one connection after another,
// sends its calls and compares each answer with the only right one.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "tests/sim/call_book.h"
#include "tests/sim/sim_reactor.h"

namespace hat::sim {

struct ClientPlan {
  Address endpoint;
  std::string service;
  bool mirrored = false;  // the server has one connection for each of the client's
  Dialect dialect = kDialects[0];
  size_t calls = 10;  // in total
  size_t calls_per_connection = 10;
  size_t depth = 1;           // unanswered at the same time
  size_t calls_out_max = 40;  // the daemon's limit (max_pipelined)
  uint64_t request_bytes_max = 1000;
  uint64_t reply_bytes_max = 1000;
  uint32_t oneway_percent = 10;
  uint32_t possible_percent = 50;   // of oneway calls of unlisted functions: sent as ordinary calls
  uint32_t timed_percent = 30;      // calls of the function with a time-out
  uint32_t bad_server_percent = 0;  // calls that the server treats badly
  uint32_t slow_percent = 0;        // reads after which it pauses
  bool half_closes = false;         // ends its requests before the last answers
  bool of_liar = false;             // its server is hostile
  uint32_t leaves_percent = 0;      // answers after which it leaves, even with calls outstanding
};

// An application that makes the calls of its plan.
// Members  Most booleans are drawn before the client begins, and do not change.
class SimClient final : public StreamEvents {
 public:
  static constexpr Duration kTimeout = std::chrono::milliseconds(300);  // of the function "timed"

  SimClient(SimNetwork& network, CallBook& book, ClientPlan plan, const std::string& name,
            uint64_t seed);

  void start();
  bool done() const { return done_; }
  // Allows the current connection to end: the simulation ends it, not the daemon.
  void expect_disturbance() { disturbed_ = true; }
  // Requires that drains are the only such ends: each call that a server has seen must be answered.
  void expect_orderly_ends() { orderly_ends_ = true; }
  // Keeps the last connection open when all calls are done; for a canary.
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
  std::vector<SimCall*> oneways_;     // of this connection
  uint64_t last_answered_ = 0;        // the call's id
  std::string in_;
  std::string out_;
  bool connected_ = false;
  bool said_end_ = false;
  bool disturbed_ = false;
  bool orderly_ends_ = false;
  bool keeps_connection_ = false;
  bool done_ = false;
  std::unique_ptr<Timer> next_;
  std::unique_ptr<Timer> read_on_;
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<ByteStream> ended_;  // one of its events may be running
};

}  // namespace hat::sim
