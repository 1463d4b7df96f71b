// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/takeover_offer.h: the running daemon's side of a takeover: a unix socket at which
// a new hatrpcd of the same node asks for the listening sockets, and then for the connections.
//
//   offered   anybody of this user may ask, one at a time; until it says that it is ready, nothing
//             changes here, whatever becomes of it
//   ready     this daemon stops accepting, and says go
//   serving   the new one accepts: it has the listening sockets for good, and gets the connections
//
// Who is too slow is refused: kHelloTime, kReadyTime (it opens its fabric and its links meanwhile)
// and kServingTime after each step.
//
// Thread   the main thread's, on its event base; the successor() is the workers'.
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
  // Stops accepting. `taken`: the addresses that the new one goes on with. Returns those of them
  // whose paths are the new one's to remove from now on.
  virtual std::vector<std::string> on_successor_ready(int pid,
                                                      const std::vector<std::string>& taken) = 0;
  // After on_successor_ready(): it is gone and has accepted nothing. Accept again.
  virtual void on_successor_failed(const std::string& why) = 0;
  // It accepts. Close the listening sockets, hand the connections over.
  virtual void on_successor_serving(int pid, std::shared_ptr<Successor> successor) = 0;
  // After on_successor_serving().
  virtual void on_successor_gone(const std::string& why) = 0;
};

class TakeoverOffer {
 public:
  static constexpr std::chrono::seconds kHelloTime{5};
  static constexpr std::chrono::seconds kReadyTime{60};
  static constexpr std::chrono::seconds kServingTime{10};

  // Where a node's offer is: beside its admin socket. Empty: it has none, or its path is too long.
  static std::string path(const NodeConfig& node);

  // `offer` listens at path(); it and what is in `sockets` stay until on_successor_serving().
  TakeoverOffer(event_base* base, const NodeConfig& node, const ListenSocket& offer,
                std::vector<const ListenSocket*> sockets, TakeoverOfferEvents& events);
  ~TakeoverOffer();  // refuses who has asked and is not serving yet

 private:
  enum class State : uint8_t { kOffered, kHello, kPreparing, kTold, kServing, kOver };

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
