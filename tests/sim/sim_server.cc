// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/sim_server.h"

#include <algorithm>
#include <deque>
#include <vector>

namespace hat::sim {

class SimServer::Connection final : public StreamEvents {
 public:
  Connection(SimServer& server, uint64_t id, const ListenerEvents::Accept& accept)
      : server_(server),
        id_(id),
        worked_(server.host_.timer([this] { finish(); })),
        stream_(accept(*this)) {
    stream_->want_read(true);
  }

 private:
  struct Request {
    SimCall* call;
    int32_t seqid;  // as it came
  };

  void on_readable() override;
  void on_writable() override { push(); }
  void take_messages();
  void begin();
  void finish();
  void answer(const Request& request);
  void push();
  void close() {
    closed_ = true;
    stream_->want_read(false);
    stream_->want_write(false);
    worked_->cancel();
    server_.forget(*this);
  }

  SimServer& server_;
  const uint64_t id_;
  std::string in_;
  std::optional<Dialect> dialect_;
  std::deque<Request> calls_;  // read, not yet handled
  bool working_ = false;
  bool silent_ = false;
  bool in_ended_ = false;
  bool closes_ = false;  // once all is written
  bool closed_ = false;
  std::string out_;
  std::unique_ptr<Timer> worked_;
  std::unique_ptr<Stream> stream_;
};

void SimServer::Connection::on_readable() {
  std::vector<std::byte> room(server_.random_.log_between(1, 64 * 1024));
  const IoResult result = stream_->read(room);
  if (closed_ || result.kind == IoResult::Kind::kWouldBlock) return;
  if (result.kind == IoResult::Kind::kError) return close();
  if (result.kind == IoResult::Kind::kEnd) {
    in_ended_ = true;
    stream_->want_read(false);
    if (silent_ || (!working_ && calls_.empty() && out_.empty())) close();
    return;
  }
  in_.append(reinterpret_cast<const char*>(room.data()), result.bytes);
  if (!dialect_) dialect_ = detect(in_);
  if (dialect_) take_messages();
}

void SimServer::Connection::take_messages() {
  while (!closed_ && !silent_) {
    const Decoded decoded = decode(*dialect_, in_);
    if (decoded.kind == Decoded::Kind::kNeedMore) return begin();
    if (decoded.kind == Decoded::Kind::kBroken) {
      return server_.book_.broken("bytes: a server cannot read what it got on connection " +
                                  std::to_string(id_));
    }
    in_.erase(0, decoded.bytes);
    if (decoded.message.type == MessageType::kOneway &&
        server_.errs(ServerMistake::kOverlooksOneway)) {
      continue;
    }
    SimCall* call = server_.book_.on_request(*dialect_, decoded.message, id_);
    if (call == nullptr) return;
    if (server_.errs(ServerMistake::kHandlesTwice)) {
      server_.book_.on_request(*dialect_, decoded.message, id_);
    }
    calls_.push_back({call, decoded.message.seqid});
    // A shared connection may carry another dialect's call next.
    if (!server_.mirrored_) {
      dialect_ = detect(in_);
      if (!dialect_) return begin();
    }
  }
}

void SimServer::Connection::begin() {
  if (working_ || silent_ || closes_ || calls_.empty()) return;
  working_ = true;
  worked_->set(server_.host_.now() + calls_.front().call->server_time);
}

void SimServer::Connection::finish() {
  working_ = false;
  if (calls_.size() > 1 && calls_[0].call->two_way && calls_[1].call->two_way &&
      calls_[0].call->name == calls_[1].call->name && server_.errs(ServerMistake::kSwapsReplies)) {
    std::swap(calls_[0], calls_[1]);
  }
  const Request request = calls_.front();
  const SimCall& call = *request.call;
  calls_.pop_front();
  if (call.two_way) answer(request);
  // Stock servers answer an unknown oneway function, too.
  if (!call.two_way && call.behaviour == Behaviour::kAppException)
    out_ += CallBook::reply_bytes(call, request.seqid);
  push();
  if (closed_) return;
  begin();
  if (in_ended_ && !working_ && out_.empty()) close();
}

void SimServer::Connection::answer(const Request& request) {
  SimCall& call = *request.call;
  std::string reply = CallBook::reply_bytes(call, request.seqid);
  switch (call.behaviour) {
    case Behaviour::kSilent:
      silent_ = true;
      return;
    case Behaviour::kHangUp:
      closes_ = true;
      return;
    case Behaviour::kHalfReply:
      closes_ = true;
      reply.resize(reply.size() / 2);
      break;
    default:
      break;
  }
  call.reply_begun = true;
  if (server_.errs(ServerMistake::kForgetsReply)) return;
  if (server_.errs(ServerMistake::kChangesReply)) reply[reply.size() / 2] ^= 1;
  if (server_.errs(ServerMistake::kAnswersAnother)) {
    reply = CallBook::reply_bytes(call, request.seqid + 1);
  }
  out_ += reply;
}

void SimServer::Connection::push() {
  while (!out_.empty()) {
    const iovec one{out_.data(), out_.size()};
    const IoResult result = stream_->write({&one, 1});
    if (result.kind == IoResult::Kind::kError) return close();
    if (result.kind != IoResult::Kind::kOk) return stream_->want_write(true);
    out_.erase(0, result.bytes);
  }
  stream_->want_write(false);
  if (closes_ || (in_ended_ && !working_ && calls_.empty())) close();
}

SimServer::SimServer(SimNetwork& network, CallBook& book, Address address, bool mirrored,
                     uint64_t seed)
    : network_(network),
      book_(book),
      host_(network, "server " + to_string(address), seed),
      address_(std::move(address)),
      mirrored_(mirrored),
      random_(seed) {}

SimServer::~SimServer() = default;

void SimServer::start() {
  running_ = true;
  network_.say("server " + to_string(address_) + " starts");
  network_.listen(address_, host_, [this](const ListenerEvents::Accept& accept) {
    // Another process has another number: what it sees is in another order.
    const uint64_t id = network_.new_entity();
    if (mirrored_) book_.upstream_is_mirrored(id);
    connections_.push_back(std::make_unique<Connection>(*this, id, accept));
  });
}

void SimServer::kill() {
  running_ = false;
  network_.say("server " + to_string(address_) + " dies");
  network_.stop_listening(address_);
  connections_.clear();
}

void SimServer::close_connections() {
  network_.say("server " + to_string(address_) + " closes its connections");
  connections_.clear();
}

// The connection is running an event: it ends with the next one.
void SimServer::forget(Connection& connection) {
  const auto found = std::ranges::find_if(
      connections_, [&](const auto& owned) { return owned.get() == &connection; });
  if (found == connections_.end()) return;
  const auto ended = std::make_shared<std::unique_ptr<Connection>>(std::move(*found));
  connections_.erase(found);
  network_.after(Duration(0), [ended] { ended->reset(); });
}

bool SimServer::errs(ServerMistake mistake) {
  if (mistake_ != mistake || mistake_made_ || mistake == ServerMistake::kNone) return false;
  return mistake_made_ = true;
}

}  // namespace hat::sim
