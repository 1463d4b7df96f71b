// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/takeover.h: the new daemon's side of a takeover, in which a new hatrpcd process
// (the new daemon) replaces the running hatrpcd of the same node (the old daemon). The old daemon
// hands over its listening sockets, and later its connections. The new daemon calls, in this order:
//
//   begin()        before the new daemon opens anything. begin() gets the old daemon's listening
//                  sockets, or returns null if no daemon runs
//   say_ready()    when the new daemon has opened everything but does not accept connections yet.
//                  on_go() follows, even if the old daemon has died
//   say_serving()  when the new daemon accepts connections. on_connection() follows for each
//                  connection that the old daemon hands over
//
// Until on_go() the old daemon serves the node. If the new daemon ends before on_go(), the old
// daemon continues unchanged.
//
// Thread   Only the main thread uses this class.
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
  // For a client that uses rings: the shared memory of the rings. Empty for a client with a socket.
  hatrpc::ring::Memory memory;
  std::vector<std::byte> read;  // bytes that the old daemon read from the client but did not use
  std::optional<KeptServer> server;  // nullopt if the client has no connection to a server
};

class TakeoverEvents {
 public:
  virtual ~TakeoverEvents() = default;
  // Reports that the old daemon has stopped accepting connections, or has died. `owned_paths` has
  // the addresses of the unix sockets whose paths this process must remove when it closes the
  // sockets.
  virtual void on_go(const std::vector<std::string>& owned_paths) = 0;
  // Reports that the old daemon continues to serve the node, and why. This function may be called
  // after on_go(), if the new daemon took too long to send kServing.
  virtual void on_refused(const std::string& why) = 0;
  virtual void on_connection(TakenConnection connection) = 0;
  virtual void on_server_connection(DetachedConnection connection) = 0;
  // Reports, once and after on_go(), that the old daemon hands over nothing more.
  virtual void on_predecessor_left() = 0;
};

class Takeover {
 public:
  // The maximum time to wait for each answer of the old daemon.
  static constexpr std::chrono::seconds kAnswerTime{10};
  // The maximum time that the new daemon may wait for its links before it calls say_ready(). This
  // time is shorter than TakeoverOffer::kReadyTime, after which the old daemon refuses the
  // takeover.
  static constexpr std::chrono::seconds kLinksTime{30};

  // Asks the old daemon for its listening sockets. Returns null if no daemon serves the node, so
  // that there is nothing to take over. Fails if the old daemon refuses, or belongs to
  // another user.
  static Result<std::unique_ptr<Takeover>> begin(const NodeConfig& node);

  // Returns the listening sockets of the old daemon. May be called once.
  daemon::InheritedSockets take_sockets() { return std::move(sockets_); }

  // Sends kReady to the old daemon. `listening` has the addresses at which the new daemon listens.
  // `node` and `events` must outlive this object.
  void say_ready(event_base* base, const std::vector<std::string>& listening,
                 const NodeConfig& node, TakeoverEvents& events);
  // Sends kServing to the old daemon. Call it in on_go().
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

  std::unique_ptr<TakeoverChannel> channel_;  // null after stop(), which closes the channel
  daemon::InheritedSockets sockets_;
  const NodeConfig* node_ = nullptr;
  TakeoverEvents* events_ = nullptr;
  std::vector<std::string> listening_;
  bool went_ = false;  // on_go() was called
  Owned<event, event_free> message_;
  Owned<event, event_free> late_;
};

}  // namespace hat
