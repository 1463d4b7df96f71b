// SPDX-License-Identifier: Apache-2.0
#include "daemon/takeover/takeover.h"

#include <glog/logging.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/system_error.h"
#include "daemon/reactor/socket_address.h"
#include "daemon/takeover/takeover_offer.h"

namespace hat {
namespace {

constexpr int kMessagesPerPoll = 64;
static_assert(Takeover::kLinksTime < TakeoverOffer::kReadyTime);

// Converts `text` from hexadecimal to a token. Returns a token of zeroes, which no connection has,
// if `text` is not a token.
engine::ConnectionToken token_of(std::string_view text) {
  engine::ConnectionToken token{};
  if (text.size() != 2 * token.size()) return token;
  for (size_t i = 0; i < token.size(); ++i) {
    const char* digits = text.data() + 2 * i;
    uint8_t value = 0;
    if (std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) return {};
    token[i] = std::byte{value};
  }
  return token;
}

}  // namespace

Result<std::unique_ptr<Takeover>> Takeover::begin(const NodeConfig& node) {
  const std::string path = TakeoverOffer::path(node);
  if (path.empty()) {
    return fail(
        ErrorCode::kProtocol,
        "--takeover: hatrpcd finds the running daemon by `admin.socket`, which is not set or "
        "is longer than 98 bytes; set a path of at most 98 bytes");
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  HAT_TRY(const SocketAddress where, to_connect_to({Address::Kind::kUnix, "", 0, path}));
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&where.storage), where.length) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) return nullptr;
    return fail_errno(path + ": cannot connect to the running hatrpcd", errno);
  }
  std::unique_ptr<Takeover> takeover(new Takeover(std::move(socket)));
  HAT_TRY(const bool there, takeover->ask(node));
  // The old daemon has closed the connection: probably it has ended, and nothing is left to take
  // over. If it still runs, this process fails later, when it cannot bind the same addresses.
  if (!there) return nullptr;
  return takeover;
}

// Requests the listening sockets from the old daemon. Returns false if the old daemon ends before
// it has answered.
Result<bool> Takeover::ask(const NodeConfig& node) {
  if (!channel_->same_user())
    return fail(
        ErrorCode::kDenied,
        "--takeover: the process that listens at ADMIN_SOCKET.takeover belongs to another user; "
        "run both as one user");
  const timeval patience{kAnswerTime.count(), 0};
  setsockopt(channel_->fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  // The result of send() is ignored: if the old daemon has already refused, the send fails, and the
  // reason for the refusal is received below.
  channel_->send(TakeoverKind::kHello, node.node);
  std::vector<daemon::InheritedSocket> sockets;
  for (bool last = false; !last;) {
    auto answer = channel_->receive(true);
    if (!answer && answer.error().code == ErrorCode::kClosed) return false;
    if (!answer)
      return fail(ErrorCode::kProtocol,
                  "--takeover: the running hatrpcd: " + answer.error().message);
    if (!*answer)
      return fail(ErrorCode::kUnavailable, "--takeover: the running hatrpcd does not answer");
    TakeoverMessage& message = **answer;
    if (message.kind == TakeoverKind::kRefuse) {
      return fail(ErrorCode::kDenied, "--takeover: the running hatrpcd refuses: " + message.text);
    }
    const std::vector<std::string> addresses = lines_of(message.text);
    last = message.kind == TakeoverKind::kLastListeners;
    if ((!last && message.kind != TakeoverKind::kListeners) ||
        addresses.size() != message.descriptors.size()) {
      return fail(
          ErrorCode::kProtocol,
          "--takeover: the running hatrpcd sent something other than its listening sockets");
    }
    for (size_t i = 0; i < addresses.size(); ++i) {
      sockets.push_back({"takeover", addresses[i], std::move(message.descriptors[i])});
    }
  }
  sockets_ = daemon::InheritedSockets(std::move(sockets));
  return true;
}

void Takeover::say_ready(event_base* base, const std::vector<std::string>& listening,
                         const NodeConfig& node, TakeoverEvents& events) {
  listening_ = listening;
  node_ = &node;
  events_ = &events;
  message_.reset(event_new(base, channel_->fd(), EV_READ | EV_PERSIST, on_message, this));
  event_add(message_.get(), nullptr);
  late_.reset(evtimer_new(base, on_late, this));
  const timeval patience{kAnswerTime.count(), 0};
  evtimer_add(late_.get(), &patience);
  std::string text;
  for (const std::string& address : listening_) text += address + "\n";
  // Ignores the result of send(): if the old daemon is gone, on_message() receives the old daemon's
  // last message or the end of the channel.
  channel_->send(TakeoverKind::kReady, text);
}

void Takeover::say_serving() {
  if (channel_) channel_->send(TakeoverKind::kServing, "");  // null if the old daemon has died
}

// Closes the channel, so that the old daemon hands over no more connections: this process would not
// receive them.
void Takeover::stop() {
  message_.reset();
  late_.reset();
  channel_.reset();
}

void Takeover::on_message(evutil_socket_t, short, void* self) {
  auto& takeover = *static_cast<Takeover*>(self);
  for (int i = 0; i < kMessagesPerPoll && takeover.message_; ++i) {
    auto message = takeover.channel_->receive();
    if (!message) return takeover.on_end(message.error().message);
    if (!*message) return;
    takeover.take(std::move(**message));
  }
}

void Takeover::on_late(evutil_socket_t, short, void* self) {
  auto& takeover = *static_cast<Takeover*>(self);
  takeover.stop();
  takeover.events_->on_refused("the running hatrpcd does not answer");
}

void Takeover::take(TakeoverMessage message) {
  if (message.kind == TakeoverKind::kConnection && went_) {
    return take_connection(std::move(message));
  }
  if (message.kind == TakeoverKind::kServerConnection && went_) {
    return take_server_connection(std::move(message));
  }
  if (message.kind == TakeoverKind::kGo && !went_) return go(lines_of(message.text));
  stop();
  if (message.kind == TakeoverKind::kRefuse) return events_->on_refused(message.text);
  LOG(WARNING) << "takeover: the previous hatrpcd sent a message that is not allowed in this "
                  "state; its channel is closed";
  went_ ? events_->on_predecessor_left()
        : events_->on_refused(
              "the previous hatrpcd sent a message that is not allowed in this state");
}

void Takeover::go(const std::vector<std::string>& owned_paths) {
  went_ = true;
  event_del(late_.get());
  events_->on_go(owned_paths);
}

void Takeover::on_end(const std::string& why) {
  stop();
  if (went_) return events_->on_predecessor_left();
  // The old daemon has most likely died: if it continued to run, it would have sent kRefuse before
  // it closed the channel. The new daemon has the listening sockets already, and continues.
  LOG(WARNING) << "takeover: the channel to the previous hatrpcd broke during the takeover: "
               << why;
  went_ = true;
  events_->on_go(listening_);
  events_->on_predecessor_left();
}

void Takeover::take_connection(TakeoverMessage message) {
  const std::vector<std::string> lines = lines_of(message.text);
  const std::string address = lines.empty() ? "" : lines[0];
  const auto& endpoints = node_->endpoints;
  const auto found = std::ranges::find(endpoints, address, [](const EndpointConfig& endpoint) {
    return to_string(endpoint.listen);
  });
  const bool rings = found != endpoints.end() && found->listen.uses_rings();
  TakenConnection taken;
  if (lines.size() == 3) taken.server = KeptServer{lines[1], token_of(lines[2])};
  if (found != endpoints.end() && message.descriptors.size() == (rings ? 2u : 1u)) {
    taken.endpoint = static_cast<size_t>(found - endpoints.begin());
    taken.socket = std::move(message.descriptors[0]);
    taken.read = std::move(message.bytes);
    const int error =
        rings ? hatrpc::ring::Memory::map(message.descriptors[1].release(), taken.memory) : 0;
    if (error == 0) return events_->on_connection(std::move(taken));
    LOG(ERROR) << "takeover: a client's connection is lost: its rings cannot be mapped: "
               << std::strerror(error);
    return;
  }
  LOG(ERROR) << "takeover: a client's connection is lost: the previous hatrpcd sent it for '"
             << address << "' with " << message.descriptors.size()
             << " descriptor(s), which does not fit this configuration";
}

void Takeover::take_server_connection(TakeoverMessage message) {
  auto connection = decode_detached(message.bytes);
  if (!connection) {
    LOG(ERROR) << "takeover: a connection to a server is lost: " << connection.error().message;
    return;
  }
  connection->descriptors = std::move(message.descriptors);
  events_->on_server_connection(std::move(*connection));
}

}  // namespace hat
