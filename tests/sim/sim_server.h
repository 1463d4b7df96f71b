// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_server.h: a simulated Thrift server: it handles one call at a time on each
// connection, and answers each call as the call's plan (SimCall) says.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "tests/sim/call_book.h"
#include "tests/sim/sim_reactor.h"

namespace hat::sim {

// A canary's mistake, which the server makes once. The simulation must find it.
enum class ServerMistake : uint8_t {
  kNone,
  kHandlesTwice,     // records a request twice
  kSwapsReplies,     // answers the next call of the connection first
  kChangesReply,     // changes one byte of a reply
  kForgetsReply,     // never answers a call
  kAnswersAnother,   // answers with a wrong sequence id
  kOverlooksOneway,  // ignores a oneway call
};

// A server that answers each call as the call's plan says.
// Members  `mirrored_`, `has_hostile_clients_` and `lies_` do not change during a run.
class SimServer {
 public:
  SimServer(SimNetwork& network, CallBook& book, Address address, bool mirrored, uint64_t seed);
  ~SimServer();

  void start();
  // Ends the server's process: the listener and all connections close.
  void kill();
  // Closes all connections, as a server can close connections that were idle for long.
  void close_connections();
  // Closes the connections on which only a part of a request has arrived, as a server with a read
  // time-out does.
  void close_where_requests_are_cut();
  void freeze(Duration time) { host_.freeze(time); }
  bool running() const { return running_; }
  const Address& address() const { return address_; }
  void make(ServerMistake mistake) { mistake_ = mistake; }
  // Allows messages that are not in the call book, the record of all honest calls.
  void expect_hostile_clients() { has_hostile_clients_ = true; }
  // Makes the server hostile: half of its answers are missing, repeated, in the wrong order, or
  // have another sequence id or name.
  void lie() { lies_ = true; }

 private:
  class Connection;
  void forget(Connection& connection);
  // Returns true the first time that it is called with the mistake that make() has set.
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
