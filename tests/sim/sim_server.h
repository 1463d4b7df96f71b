// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_server.h: a Thrift server of the simulation: it reads calls, one after another on
// each connection, and handles each as the call's plan says.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "tests/sim/call_book.h"
#include "tests/sim/sim_reactor.h"

namespace hat::sim {

// A deliberate error, which the server makes once, so that a check can be seen to fail.
enum class ServerMistake : uint8_t {
  kNone,
  kHandlesTwice,    // as if the call had arrived twice
  kSwapsReplies,    // answers a later call of the connection first
  kChangesReply,    // one byte of it
  kForgetsReply,    // never answers, although the call has no time-out
  kAnswersAnother,  // with the sequence id of another call
  kOverlooksOneway,
};

// A server that answers calls as their plans say.
// Members  Most booleans are drawn before the server begins, and do not change.
class SimServer {
 public:
  SimServer(SimNetwork& network, CallBook& book, Address address, bool mirrored, uint64_t seed);
  ~SimServer();

  void start();
  // Ends the process: its kernel closes all that was open.
  void kill();
  // Closes its connections, as servers do with those that are idle for long.
  void close_connections();
  // Closes the connections that wait for the rest of a request, as stock servers may after a time
  // limit.
  void close_where_requests_are_cut();
  void freeze(Duration time) { host_.freeze(time); }
  bool running() const { return running_; }
  const Address& address() const { return address_; }
  void make(ServerMistake mistake) { mistake_ = mistake; }
  // Allows clients to send messages that are not in the book.
  void expect_hostile_clients() { has_hostile_clients_ = true; }
  // Makes half of its answers wrong: none, several, or with another id or name.
  void lie() { lies_ = true; }

 private:
  class Connection;
  void forget(Connection& connection);
  // Returns true once, if the server has to make this mistake.
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
