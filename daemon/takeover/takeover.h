// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/takeover.h: the new daemon's side of a takeover: it takes the listening sockets
// of the hatrpcd that runs, and then its connections.
//
//   begin()    before anything is opened: the sockets, or nobody is there
//   say_ready  everything is open, nothing accepts; on_go() follows, also where the old one died
//   say_serving  this one accepts; on_connection() follows for each that the old one gives up
//
// Until on_go() the node is the old one's: whatever ends this process changes nothing there.
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

// What the old one had accepted, and served until now.
struct TakenConnection {
  size_t endpoint = 0;
  Descriptor socket;
  hatrpc::ring::Memory memory;       // none: a socket's
  std::vector<std::byte> read;       // of it, and not used
  std::optional<KeptServer> server;  // none: the client has no connection to a server
};

class TakeoverEvents {
 public:
  virtual ~TakeoverEvents() = default;
  // `owned_paths`: the addresses of the unix sockets that are this process's to remove.
  virtual void on_go(const std::vector<std::string>& owned_paths) = 0;
  // The old one goes on with the node. Also after on_go(), where that took too long.
  virtual void on_refused(const std::string& why) = 0;
  virtual void on_connection(TakenConnection connection) = 0;
  virtual void on_server_connection(DetachedConnection connection) = 0;
  // After on_go(), once: the old one has ended.
  virtual void on_predecessor_left() = 0;
};

class Takeover {
 public:
  static constexpr std::chrono::seconds kAnswerTime{10};  // for each of the old one's answers
  // So long say_ready() may wait for links, and be in time for TakeoverOffer::kReadyTime.
  static constexpr std::chrono::seconds kLinksTime{30};

  // Null: nobody serves the node, so there is nothing to take over. Errors: somebody does, and says
  // no, or this process may not ask.
  static Result<std::unique_ptr<Takeover>> begin(const NodeConfig& node);

  // Where the old one listens; once.
  daemon::InheritedSockets take_sockets() { return std::move(sockets_); }

  // `listening`: the addresses where this one listens. `node` and `events` outlive this.
  void say_ready(event_base* base, const std::vector<std::string>& listening,
                 const NodeConfig& node, TakeoverEvents& events);
  // In on_go().
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

  std::unique_ptr<TakeoverChannel> channel_;  // none: no more is heard, and the old one knows
  daemon::InheritedSockets sockets_;
  const NodeConfig* node_ = nullptr;
  TakeoverEvents* events_ = nullptr;
  std::vector<std::string> listening_;
  bool went_ = false;  // go was said
  Owned<event, event_free> message_;
  Owned<event, event_free> late_;
};

}  // namespace hat
