// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/takeover_offer.h: the running daemon's side of a takeover, in which a new hatrpcd
// process of the same node (the new daemon) replaces this process (this daemon). The new daemon
// connects to a unix socket of this daemon, asks for the listening sockets, and later receives the
// connections. The steps are:
//
//   offered   Processes of the same user or of root may ask, one at a time. Until the new daemon
//             says that it is ready, nothing changes in this daemon, even if the new daemon fails.
//   ready     The new daemon is ready: this daemon stops accepting connections, and sends kGo.
//   serving   The new daemon accepts connections: it keeps the listening sockets, and this daemon
//             hands over its connections.
//
// This daemon refuses a new daemon that does not take the next step in time. The limits are
// kHelloTime, kReadyTime (while the new daemon opens its fabric and its links) and kServingTime.
//
// Thread   Only the main thread uses this class, on its event base. The workers use the Successor
//          that is passed to on_successor_serving().
#pragma once

#include <event2/event.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/owned.h"
#include "config/node.h"
#include "daemon/proxy/successor.h"
#include "daemon/reactor/libevent_reactor.h"
#include "daemon/takeover/takeover_channel.h"

namespace hat {

class TakeoverOfferEvents {
 public:
  virtual ~TakeoverOfferEvents() = default;
  // Stops accepting connections. `taken` has the addresses at which the new daemon listens. Returns
  // those addresses in `taken` whose paths the new daemon must remove when it ends, instead of this
  // daemon.
  virtual std::vector<std::string> on_successor_ready(int pid,
                                                      const std::vector<std::string>& taken) = 0;
  // Starts to accept connections again. Called after on_successor_ready() if the new daemon has
  // gone before it accepted connections.
  virtual void on_successor_failed(const std::string& why) = 0;
  // Closes the listening sockets, and hands the connections over to `successor`. Called when the
  // new daemon accepts connections.
  virtual void on_successor_serving(int pid, std::shared_ptr<Successor> successor) = 0;
  // Reports, after on_successor_serving(), that the new daemon takes no more connections.
  virtual void on_successor_gone(const std::string& why) = 0;
};

class TakeoverOffer {
 public:
  static constexpr std::chrono::seconds kHelloTime{5};
  static constexpr std::chrono::seconds kReadyTime{60};
  static constexpr std::chrono::seconds kServingTime{10};

  // Returns the path of the unix socket at which this daemon offers a takeover: the path of the
  // admin socket with ".takeover" appended. Returns "" if the node has no admin socket, or if the
  // path would be too long.
  static std::string path(const NodeConfig& node);

  // Requires that the socket `offer` listens at path(). `sockets` are the listening sockets to hand
  // over. `offer` and all elements of `sockets` must live until on_successor_serving().
  TakeoverOffer(event_base* base, const NodeConfig& node, const ListenSocket& offer,
                std::vector<const ListenSocket*> sockets, TakeoverOfferEvents& events);
  ~TakeoverOffer();  // refuses a new daemon that has asked and has not been sent kGo yet

  // Returns true if a new daemon has asked, so that a takeover is under way.
  bool is_asked() const { return channel_ != nullptr; }

 private:
  enum class State : uint8_t { kOffered, kHello, kPreparing, kSentGo, kServing, kOver };

  static void on_asked(evutil_socket_t, short, void* self);
  static void on_accept_again(evutil_socket_t, short, void* self);
  static void on_message(evutil_socket_t, short, void* self);
  static void on_late(evutil_socket_t, short, void* self);

  void meet(std::unique_ptr<TakeoverChannel> who);
  void take(const TakeoverMessage& message);
  void give_sockets(const TakeoverMessage& hello);
  void say_go(const TakeoverMessage& ready);
  void begin_serving();
  void enter(State state, std::chrono::seconds patience);
  void refuse(const std::string& why);
  void lose(const std::string& why);

  event_base* const base_;
  const NodeConfig& node_;
  const ListenSocket& offer_;
  const std::vector<const ListenSocket*> sockets_;
  TakeoverOfferEvents& events_;
  State state_ = State::kOffered;
  std::vector<std::string> taken_;
  std::shared_ptr<TakeoverChannel> channel_;
  Owned<event, event_free> asked_;
  Owned<event, event_free> accept_again_;
  Owned<event, event_free> message_;
  Owned<event, event_free> late_;
};

}  // namespace hat
