// SPDX-License-Identifier: Apache-2.0
#include "daemon/takeover/takeover_offer.h"

#include <glog/logging.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/accept_pause.h"
#include "daemon/proxy/inbound/detached_connections.h"
#include "daemon/reactor/socket_address.h"

namespace hat {
namespace {

constexpr size_t kPathBytesMax = 107;       // the size of sun_path without the final zero byte
constexpr size_t kSocketsPerMessage = 100;  // below TakeoverChannel::kDescriptorsMax
// The maximum number of messages to read in one event, so that a process that sends messages
// without end does not block the event loop.
constexpr int kMessagesPerEvent = 4;

std::string to_hex(const engine::ConnectionToken& token) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte one : token) {
    text += kDigits[static_cast<size_t>(one >> 4)];
    text += kDigits[static_cast<size_t>(one & std::byte{15})];
  }
  return text;
}

// Hands over connections through the channel. Shares ownership of the channel: the channel stays
// open as long as a worker holds this object, even after the TakeoverOffer has dropped the channel.
class ChannelSuccessor final : public Successor {
 public:
  ChannelSuccessor(std::shared_ptr<TakeoverChannel> channel, const NodeConfig& node,
                   const std::vector<std::string>& taken)
      : channel_(std::move(channel)) {
    for (const EndpointConfig& endpoint : node.endpoints) {
      if (std::ranges::find(taken, to_string(endpoint.listen)) == taken.end()) continue;
      wanted_.push_back(endpoint.listen);
    }
  }

  bool wants(const Address& endpoint) const override {
    return std::ranges::find(wanted_, endpoint) != wanted_.end();
  }

  Answer take(const Address& endpoint, std::span<const int> descriptors,
              std::initializer_list<std::span<const std::byte>> read,
              const KeptServer* server) override {
    std::string text = to_string(endpoint);
    if (server != nullptr) text += "\n" + server->peer + "\n" + to_hex(server->token);
    return send(TakeoverKind::kConnection, text, read, descriptors);
  }
  Answer take_server(const DetachedConnection& connection) override {
    std::vector<int> descriptors;
    for (const Descriptor& one : connection.descriptors) descriptors.push_back(one.get());
    const std::vector<std::byte> bytes = encode(connection);
    return send(TakeoverKind::kServerConnection, "", {bytes}, descriptors);
  }

 private:
  Answer send(TakeoverKind kind, std::string_view text,
              std::initializer_list<std::span<const std::byte>> bytes,
              std::span<const int> descriptors) {
    switch (channel_->send(kind, text, bytes, descriptors)) {
      case TakeoverChannel::Sent::kSent:
        return Answer::kTaken;
      case TakeoverChannel::Sent::kNoRoom:
        return Answer::kLater;
      case TakeoverChannel::Sent::kTooLarge:
      case TakeoverChannel::Sent::kGone:
        break;
    }
    return Answer::kNever;
  }

  const std::shared_ptr<TakeoverChannel> channel_;
  std::vector<Address> wanted_;
};

}  // namespace

std::string TakeoverOffer::path(const NodeConfig& node) {
  if (node.admin.socket.empty()) return "";
  const std::string path = node.admin.socket + ".takeover";
  return path.size() <= kPathBytesMax ? path : "";
}

TakeoverOffer::TakeoverOffer(event_base* base, const NodeConfig& node, const ListenSocket& offer,
                             std::vector<const ListenSocket*> sockets, TakeoverOfferEvents& events)
    : base_(base),
      node_(node),
      offer_(offer),
      sockets_(std::move(sockets)),
      events_(events),
      asked_(event_new(base, offer.fd(), EV_READ | EV_PERSIST, on_asked, this)),
      accept_again_(evtimer_new(base, on_accept_again, this)),
      late_(evtimer_new(base, on_late, this)) {
  event_add(asked_.get(), nullptr);
}

TakeoverOffer::~TakeoverOffer() {
  if (state_ == State::kHello || state_ == State::kPreparing) {
    channel_->send(TakeoverKind::kRefuse, "node " + node_.node + " is shutting down");
  }
}

void TakeoverOffer::enter(State state, std::chrono::seconds patience) {
  state_ = state;
  event_del(late_.get());
  const timeval time{patience.count(), 0};
  if (patience.count() != 0) evtimer_add(late_.get(), &time);
}

// --- The new daemon's connection ---

void TakeoverOffer::on_asked(evutil_socket_t, short, void* self) {
  auto& offer = *static_cast<TakeoverOffer*>(self);
  Descriptor socket(accept4(offer.offer_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.get() >= 0) return offer.meet(std::make_unique<TakeoverChannel>(std::move(socket)));
  if (!accept_must_pause(errno)) return;
  const timeval pause{0, std::chrono::microseconds(kAcceptPause).count()};
  event_del(offer.asked_.get());
  evtimer_add(offer.accept_again_.get(), &pause);
}

void TakeoverOffer::on_accept_again(evutil_socket_t, short, void* self) {
  event_add(static_cast<TakeoverOffer*>(self)->asked_.get(), nullptr);
}

void TakeoverOffer::meet(std::unique_ptr<TakeoverChannel> who) {
  if (!who->same_user()) {
    LOG(WARNING) << "takeover: refused to hand over to another user's process " << who->pid();
    who->send(TakeoverKind::kRefuse, "only root and hatrpcd's own user may take over");
    return;
  }
  // Handles the messages of an earlier new daemon first: if it has gone, `who` can take its place.
  if (channel_) on_message(-1, 0, this);
  if (channel_) {
    who->send(TakeoverKind::kRefuse, "another hatrpcd is already taking over");
    return;
  }
  channel_ = std::move(who);
  message_.reset(event_new(base_, channel_->fd(), EV_READ | EV_PERSIST, on_message, this));
  event_add(message_.get(), nullptr);
  enter(State::kHello, kHelloTime);
}

void TakeoverOffer::on_message(evutil_socket_t, short, void* self) {
  auto& offer = *static_cast<TakeoverOffer*>(self);
  for (int i = 0; i < kMessagesPerEvent && offer.channel_; ++i) {
    auto message = offer.channel_->receive();
    if (!message) return offer.lose(message.error().message);
    if (!*message) return;
    offer.take(**message);
  }
}

void TakeoverOffer::take(const TakeoverMessage& message) {
  if (message.kind == TakeoverKind::kHello && state_ == State::kHello) return give_sockets(message);
  if (message.kind == TakeoverKind::kReady && state_ == State::kPreparing) return say_go(message);
  if (message.kind == TakeoverKind::kServing && state_ == State::kSentGo) return begin_serving();
  constexpr const char* kWhy = "the new hatrpcd sent a message that is not allowed in this state";
  state_ == State::kServing ? lose(kWhy) : refuse(kWhy);
}

void TakeoverOffer::on_late(evutil_socket_t, short, void* self) {
  static_cast<TakeoverOffer*>(self)->refuse("the new hatrpcd took too long");
}

void TakeoverOffer::refuse(const std::string& why) {
  channel_->send(TakeoverKind::kRefuse, why);
  lose(why);
}

// Closes the channel, because the new daemon has gone or was refused.
void TakeoverOffer::lose(const std::string& why) {
  const State before = state_;
  message_.reset();
  channel_.reset();
  enter(before == State::kServing ? State::kOver : State::kOffered, std::chrono::seconds(0));
  if (before == State::kServing) return events_.on_successor_gone(why);
  if (before == State::kPreparing) {
    LOG(WARNING) << "takeover: the new hatrpcd failed before it could serve: " << why
                 << "; this hatrpcd continues to serve";
  }
  if (before != State::kSentGo) return;
  event_add(asked_.get(), nullptr);
  events_.on_successor_failed(why);
}

// --- The steps ---

void TakeoverOffer::give_sockets(const TakeoverMessage& hello) {
  if (hello.text != node_.node) {
    return refuse("this is node '" + node_.node + "', not '" + hello.text + "'");
  }
  LOG(INFO) << "takeover: a new hatrpcd, process " << channel_->pid()
            << ", asks for the listening sockets";
  for (size_t at = 0; at < sockets_.size();) {
    const size_t end = std::min(at + kSocketsPerMessage, sockets_.size());
    const TakeoverKind kind =
        end == sockets_.size() ? TakeoverKind::kLastListeners : TakeoverKind::kListeners;
    std::string addresses;
    std::vector<int> descriptors;
    for (; at < end; ++at) {
      const auto bound = bound_address(sockets_[at]->fd());
      addresses += to_string(bound ? *bound : sockets_[at]->address()) + "\n";
      descriptors.push_back(sockets_[at]->fd());
    }
    if (channel_->send(kind, addresses, {}, descriptors) != TakeoverChannel::Sent::kSent) {
      return refuse("the new hatrpcd does not receive the listening sockets");
    }
  }
  enter(State::kPreparing, kReadyTime);
}

void TakeoverOffer::say_go(const TakeoverMessage& ready) {
  taken_ = lines_of(ready.text);
  event_del(asked_.get());  // the new daemon answers later requests for a takeover
  event_del(accept_again_.get());
  enter(State::kSentGo, std::chrono::seconds(0));
  std::string owned_paths;
  for (const std::string& address : events_.on_successor_ready(channel_->pid(), taken_)) {
    owned_paths += address + "\n";
  }
  if (channel_->send(TakeoverKind::kGo, owned_paths) != TakeoverChannel::Sent::kSent) {
    return lose(TakeoverChannel::kEnded);
  }
  enter(State::kSentGo, kServingTime);
}

void TakeoverOffer::begin_serving() {
  enter(State::kServing, std::chrono::seconds(0));
  events_.on_successor_serving(channel_->pid(),
                               std::make_shared<ChannelSuccessor>(channel_, node_, taken_));
}

}  // namespace hat
