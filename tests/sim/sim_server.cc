// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/sim_server.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "tests/sim/hostile.h"

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
  bool waits_for_rest() const { return !in_.empty(); }

 private:
  struct Request {
    SimCall* call;  // nullptr: the request is from a hostile client
    int32_t seqid;  // as received from the daemon
    std::string answer_to_hostile;
  };

  void on_readable() override;
  void on_writable() override { push(); }
  void take_messages();
  bool take_hostile(const Decoded& decoded);
  bool detect_next();
  void begin();
  void finish();
  void answer(const Request& request);
  void lie(const Request& request, const std::string& reply);
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
  std::deque<Request> calls_;  // requests that were read and are not handled yet
  bool working_ = false;
  bool silent_ = false;
  bool in_ended_ = false;
  bool closes_ = false;  // close the connection after `out_` is written
  bool closed_ = false;
  std::string out_;
  std::string late_;  // a repeated reply of a hostile server, sent before the next answer
  std::unique_ptr<Timer> worked_;
  std::unique_ptr<ByteStream> stream_;
};

void SimServer::Connection::on_readable() {
  std::vector<std::byte> space(server_.random_.log_between(1, 64 * 1024));
  const IoResult result = stream_->read(space);
  if (closed_ || result.kind == IoResult::Kind::kWouldBlock) return;
  if (result.kind == IoResult::Kind::kError) return close();
  if (result.kind == IoResult::Kind::kEnd) {
    in_ended_ = true;
    stream_->want_read(false);
    if (silent_ || (!working_ && calls_.empty() && out_.empty())) close();
    return;
  }
  in_.append(reinterpret_cast<const char*>(space.data()), result.bytes);
  if (!dialect_) dialect_ = detect(in_);
  if (dialect_) take_messages();
}

void SimServer::Connection::take_messages() {
  while (!closed_ && !silent_) {
    const Decoded decoded = decode(*dialect_, in_);
    if (decoded.kind == Decoded::Kind::kNeedMore) return begin();
    if (server_.has_hostile_clients_ && !server_.book_.has(decoded.message)) {
      if (!take_hostile(decoded)) return;
      continue;
    }
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
    calls_.push_back({call, decoded.message.seqid, {}});
    if (!detect_next()) return begin();
  }
}

// Detects the dialect (framing and encoding) of the next call on a connection of shared mode,
// because hostile clients use any dialect. Returns false if more bytes are needed.
bool SimServer::Connection::detect_next() {
  if (!server_.mirrored_) dialect_ = detect(in_);
  return dialect_.has_value();
}

// Queues the answer to a hostile client's message. Returns false if the caller must stop reading
// messages: the connection is closed, or the next message has not arrived.
bool SimServer::Connection::take_hostile(const Decoded& decoded) {
  if (decoded.bytes == 0) {
    close();
    return false;
  }
  const std::string frame = in_.substr(0, decoded.bytes);
  in_.erase(0, decoded.bytes);
  AnswerToHostile answer = answer_to_hostile(*dialect_, decoded.message, frame);
  calls_.push_back({nullptr, 0, std::move(answer.bytes)});
  const bool read_all = decoded.kind == Decoded::Kind::kMessage && answer.to_all;
  if (server_.mirrored_ && !read_all) {
    close();
    return false;
  }
  if (detect_next()) return true;
  begin();
  return false;
}

void SimServer::Connection::begin() {
  if (working_ || silent_ || closes_ || calls_.empty()) return;
  working_ = true;
  const SimCall* call = calls_.front().call;
  worked_->set(server_.host_.now() + (call == nullptr ? Duration(0) : call->server_time));
}

void SimServer::Connection::finish() {
  working_ = false;
  const bool two_alike = calls_.size() > 1 && calls_[0].call != nullptr &&
                         calls_[1].call != nullptr && calls_[0].call->two_way &&
                         calls_[1].call->two_way && calls_[0].call->name == calls_[1].call->name;
  if (two_alike && server_.errs(ServerMistake::kSwapsReplies)) std::swap(calls_[0], calls_[1]);
  const Request request = calls_.front();
  calls_.pop_front();
  if (request.call == nullptr) {
    out_ += request.answer_to_hostile;
  } else if (request.call->two_way) {
    answer(request);
  } else if (request.call->behaviour == Behaviour::kAppException) {
    // A stock Thrift server answers a call of an unknown function with an exception, even if the
    // call is oneway.
    out_ += CallBook::reply_bytes(*request.call, request.seqid);
  }
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
  out_ += std::exchange(late_, "");
  if (server_.lies_ && server_.random_.percent(50)) return lie(request, reply);
  if (server_.errs(ServerMistake::kForgetsReply)) return;
  if (server_.errs(ServerMistake::kChangesReply)) reply[reply.size() / 2] ^= 1;
  if (server_.errs(ServerMistake::kAnswersAnother)) {
    reply = CallBook::reply_bytes(call, request.seqid + 1);
  }
  out_ += reply;
}

void SimServer::Connection::lie(const Request& request, const std::string& reply) {
  const SimCall& call = *request.call;
  switch (server_.random_.below(7)) {
    case 0:
      return;
    case 6:
      out_ += reply;
      late_ = reply;
      return;
    case 1:
      out_ += reply + reply;
      return;
    case 2:
      for (uint64_t count = server_.random_.between(3, 6); count != 0; --count) out_ += reply;
      return;
    case 3:
      // Answer with a sequence id that no call has. The daemon could not detect a wrong reply that
      // has the id of another unanswered call.
      out_ += CallBook::reply_bytes(call, request.seqid ^ 0x400000);
      return;
    case 4: {
      Message other = CallBook::reply(call, request.seqid);
      other.name = "echo";
      out_ += encode(*call.dialect, other);
      return;
    }
    default:  // sends the reply to the next call first
      if (!calls_.empty() && calls_[0].call != nullptr) {
        out_ += CallBook::reply_bytes(*calls_[0].call, calls_[0].seqid);
      }
      out_ += reply;
  }
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
    // Give each connection a new id, even after a restart of the server. The call book checks the
    // order of calls by this id, because calls may change their order across several connections.
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

void SimServer::close_where_requests_are_cut() {
  std::erase_if(connections_, [](const auto& connection) { return connection->waits_for_rest(); });
}

// Removes `connection` from the list. The network deletes it in a later event, because one of the
// connection's callbacks is running now.
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
