// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/takeover.h: the new daemon's side of a takeover: it takes the listening sockets
// of the running hatrpcd (the old daemon), and then its connections.
//
//   begin()        called before anything is opened: returns the sockets, or null if no daemon runs
//   say_ready()    called when everything is open and nothing accepts; on_go() follows, also if the
//                  old daemon has died
//   say_serving()  called when this daemon accepts; on_connection() follows for each connection
//                  that the old daemon hands over
//
// Until on_go() the old daemon serves the node. If this process ends before, the old daemon
// continues unchanged.
//
// Thread   the main thread's.
#pragma once

#include <event2/event.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/owned.h"
#include "client/ring/memory.h"
#include "config/node.h"
#include "daemon/proxy/inbound/detached_connections.h"
#include "daemon/proxy/successor.h"
#include "daemon/reactor/inherited_sockets.h"
#include "daemon/takeover/takeover_channel.h"

namespace hat {

// A client connection that the old daemon accepted and has served until now.
struct TakenConnection {
  size_t endpoint = 0;  // the index in NodeConfig::endpoints
  Descriptor socket;
  hatrpc::ring::Memory memory;       // the memory of rings; empty for a socket
  std::vector<std::byte> read;       // bytes that were read from the connection but not used
  std::optional<KeptServer> server;  // nullopt if the client has no connection to a server
};

class TakeoverEvents {
 public:
  virtual ~TakeoverEvents() = default;
  // Reports that the old daemon has stopped accepting, or has died. `owned_paths` has the addresses
  // of the unix sockets whose paths this process must remove when it closes the sockets.
  virtual void on_go(const std::vector<std::string>& owned_paths) = 0;
  // Reports that the old daemon continues to serve the node, and why. This may follow on_go(), if
  // this daemon took too long to send kServing.
  virtual void on_refused(const std::string& why) = 0;
  virtual void on_connection(TakenConnection connection) = 0;
  virtual void on_server_connection(DetachedConnection connection) = 0;
  // Reports, once and after on_go(), that the old daemon hands over nothing more.
  virtual void on_predecessor_left() = 0;
};

class Takeover {
 public:
  static constexpr std::chrono::seconds kAnswerTime{10};  // for each answer of the old daemon
  // How long the daemon may wait for its links before say_ready(). It is then still in time for
  // TakeoverOffer::kReadyTime.
  static constexpr std::chrono::seconds kLinksTime{30};

  // Asks the old daemon for its listening sockets. Returns null if no daemon serves the node, so
  // that there is nothing to take over. Fails if the old daemon refuses, or this process may not
  // ask.
  static Result<std::unique_ptr<Takeover>> begin(const NodeConfig& node);

  // Returns the listening sockets of the old daemon. May be called once.
  daemon::InheritedSockets take_sockets() { return std::move(sockets_); }

  // Sends kReady. `listening` has the addresses at which this daemon listens. `node` and `events`
  // must outlive this object.
  void say_ready(event_base* base, const std::vector<std::string>& listening,
                 const NodeConfig& node, TakeoverEvents& events);
  // Sends kServing. Called in on_go().
  void say_serving();

 private:
  explicit Takeover(Descriptor socket)
      : channel_(std::make_unique<TakeoverChannel>(std::move(socket))) {}

  Result<bool> ask(const NodeConfig& node);
  static void on_message(evutil_socket_t, short, void* self);
  static void on_late(evutil_socket_t, short, void* self);
  void take(TakeoverMessage message);
  void take_connection(TakeoverMessage message);
  void take_server_connection(TakeoverMessage message);
  void go(const std::vector<std::string>& owned_paths);
  void stop();
  void on_end(const std::string& why);

  std::unique_ptr<TakeoverChannel> channel_;  // null after stop(); the old daemon sees its end
  daemon::InheritedSockets sockets_;
  const NodeConfig* node_ = nullptr;
  TakeoverEvents* events_ = nullptr;
  std::vector<std::string> listening_;
  bool went_ = false;  // on_go() was called
  Owned<event, event_free> message_;
  Owned<event, event_free> late_;
};

}  // namespace hat
