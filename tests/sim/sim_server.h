// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_server.h: a Thrift server of the simulation: it reads calls, one after the other on
// each connection, and does with each what the call's plan says.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "tests/sim/call_book.h"
#include "tests/sim/sim_reactor.h"

namespace hat::sim {

// What a server does wrong on purpose, once, so that a check is seen to fail.
enum class ServerMistake : uint8_t {
  kNone,
  kHandlesTwice,    // as if the call had come twice
  kSwapsReplies,    // answers a later call of the connection first
  kChangesReply,    // one byte of it
  kForgetsReply,    // never answers, though the call has no time-out
  kAnswersAnother,  // with the sequence id of another call
  kOverlooksOneway,
};

class SimServer {
 public:
  SimServer(SimNetwork& network, CallBook& book, Address address, bool mirrored, uint64_t seed);
  ~SimServer();

  void start();
  // The process dies: its kernel closes what it had open.
  void kill();
  // It closes its connections, as servers do with those that are idle for long.
  void close_connections();
  // It has a time limit for the rest of a request, as stock servers may have, and that is over.
  void close_where_requests_are_cut();
  void freeze(Duration time) { host_.freeze(time); }
  bool running() const { return running_; }
  const Address& address() const { return address_; }
  void make(ServerMistake mistake) { mistake_ = mistake; }
  // Some of its clients send what is no message of the book's.
  void expect_hostile_clients() { has_hostile_clients_ = true; }
  // Half of its answers are none, several, or not what they say.
  void lie() { lies_ = true; }

 private:
  class Connection;
  void forget(Connection& connection);
  // True once, where the mistake is to be made.
  bool errs(ServerMistake mistake);

  SimNetwork& network_;
  CallBook& book_;
  SimHost host_;
  const Address address_;
  const bool mirrored_;
  Random random_;
  bool running_ = false;
  bool has_hostile_clients_ = false;
  bool lies_ = false;
  ServerMistake mistake_ = ServerMistake::kNone;
  bool mistake_made_ = false;
  std::list<std::unique_ptr<Connection>> connections_;
};

}  // namespace hat::sim
