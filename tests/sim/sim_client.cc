// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/sim_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace hat::sim {
namespace {

constexpr Duration kThinkMax = std::chrono::milliseconds(3);
constexpr Duration kReconnectMax = std::chrono::milliseconds(60);
constexpr Duration kSlowMax = std::chrono::milliseconds(40);

// Returns true if the daemon must assume that `call` may be oneway: its type is that of an ordinary
// call, and the manifest does not list its function.
bool is_possible(const SimCall& call) {
  return call.type == MessageType::kCall && thrift::bare_name(call.name).starts_with("unlisted");
}

}  // namespace

SimClient::SimClient(SimNetwork& network, CallBook& book, ClientPlan plan, const std::string& name,
                     uint64_t seed)
    : network_(network),
      book_(book),
      host_(network, name, seed),
      plan_(std::move(plan)),
      random_(seed),
      calls_left_(plan_.calls),
      next_(host_.timer([this] { stream_ ? fill() : connect(); })),
      read_on_(host_.timer([this] {
        if (stream_) stream_->want_read(true);
      })) {}

void SimClient::start() {
  const Duration latest = plan_.is_even ? Duration(0) : kReconnectMax;
  next_->set(network_.now() + random_.between(Duration(0), latest));
}

void SimClient::connect() {
  connection_ = network_.new_entity();
  calls_left_here_ = std::min(calls_left_, plan_.calls_per_connection);
  in_.clear();
  out_.clear();
  connected_ = has_reply_ = said_end_ = disturbed_ = bytes_ = false;
  network_.say(host_.name() + " connects, connection " + std::to_string(connection_));
  stream_ = host_.connect(plan_.endpoint, *this);
  stream_->want_read(true);
  fill();
}

// --- Sending ---

void SimClient::fill() {
  while (calls_left_here_ != 0 && outstanding_.size() < plan_.depth) add_call();
  if (plan_.half_closes && calls_left_here_ == 0 && out_.empty() && connected_) push();
  if (!out_.empty()) push();
  // If only oneway calls were left to send, no answer will call after_answer().
  if (stream_ && calls_left_here_ == 0 && outstanding_.empty() && out_.empty()) after_answer();
}

void SimClient::add_call() {
  --calls_left_here_;
  --calls_left_;
  SimCall call{.connection = connection_, .dialect = &plan_.dialect};
  call.request_bytes = random_.log_between(plan_.request_bytes_min, plan_.request_bytes_max);
  call.reply_bytes = random_.log_between(plan_.reply_bytes_min, plan_.reply_bytes_max);
  call.seqid = random_.percent(50) ? 0 : static_cast<int32_t>(random_.next());
  call.of_liar = plan_.of_liar;
  // Each call to a hostile server has a unique sequence id, so that the daemon and the simulation
  // can recognise an answer with another call's id.
  if (plan_.of_liar) call.seqid = static_cast<int32_t>(book_.calls().size());
  call.server_time = random_.percent(50)
                         ? Duration(0)
                         : random_.between(Duration(0), std::chrono::milliseconds(2));
  if (random_.percent(plan_.oneway_percent)) {
    const bool listed = random_.percent(70);
    call.two_way = false;
    // Clients in Go send a oneway call with the type of an ordinary call. The daemon can recognise
    // such a call as oneway only by the manifest.
    const bool ordinary = random_.percent(listed ? 50 : plan_.possible_percent);
    call.type = ordinary ? MessageType::kCall : MessageType::kOneway;
    // A real client sends a given function always with the same message type.
    call.name = listed ? "note" : ordinary ? "unlisted_post" : "unlisted_note";
    // The server may answer a oneway call with an exception only if the daemon reads the
    // connection's messages, because the daemon then drops the exception. If the daemon carried the
    // connection byte for byte, the client would take the exception for another call's answer.
    const bool followed = plan_.possible_percent == 0 && plan_.depth < plan_.calls_out_max;
    if (!listed && !ordinary && followed && random_.percent(50)) {
      call.behaviour = Behaviour::kAppException;
    }
  } else {
    const bool timed = random_.percent(plan_.timed_percent);
    call.name = timed ? "timed" : plan_.is_even || random_.percent(80) ? "echo" : "unlisted";
    if (timed) call.timeout = kTimeout;
    if (!plan_.is_even && random_.percent(20)) {
      call.behaviour =
          random_.percent(50) ? Behaviour::kDeclaredException : Behaviour::kAppException;
    }
    if (random_.percent(plan_.bad_server_percent)) {
      constexpr Behaviour kBad[] = {Behaviour::kHangUp, Behaviour::kHalfReply, Behaviour::kSilent};
      // A server may leave a call unanswered only if the daemon answers the call after its
      // time-out. The daemon does not answer on a connection that it carries byte for byte. It also
      // does not answer while an earlier call that may be oneway is unanswered.
      const bool told =
          timed && !bytes_ && (plan_.oneway_percent == 0 || plan_.possible_percent == 0);
      call.behaviour = kBad[random_.below(told ? 3 : 2)];
    }
  }
  call.prompt = !plan_.of_liar && plan_.depth == 1 && plan_.oneway_percent == 0 &&
                plan_.slow_percent == 0 && call.request_bytes <= 3000 && call.reply_bytes <= 3000;
  if (!plan_.stays_on_lane && random_.percent(20)) call.name = plan_.service + ":" + call.name;
  // Before the first reply, the peer's kBound frame can be lost with the lane.
  call.outlives_lane = plan_.stays_on_lane && has_reply_;
  SimCall& added = book_.add(std::move(call));
  if (added.two_way) {
    outstanding_.push_back(&added);
  } else {
    oneways_.push_back(&added);
  }
  if (may_be_bytes()) disturbed_ = bytes_ = true;
  out_ += encode(plan_.dialect, CallBook::request(added));
}

void SimClient::push() {
  while (!out_.empty()) {
    const iovec one{out_.data(), out_.size()};
    const IoResult result = stream_->write({&one, 1});
    if (result.kind == IoResult::Kind::kError) {
      return on_end(std::strerror(result.error), true);
    }
    if (result.kind != IoResult::Kind::kOk) return stream_->want_write(true);
    connected_ = true;
    out_.erase(0, result.bytes);
  }
  stream_->want_write(false);
  if (plan_.half_closes && calls_left_here_ == 0 && !std::exchange(said_end_, true)) {
    network_.say(host_.name() + " says the end of its requests");
    stream_->shutdown_write();
  }
}

void SimClient::on_writable() { fill(); }

// --- Answers ---

void SimClient::on_readable() {
  constexpr uint64_t kRoomMax = 64 * 1024;
  const bool patient = random_.percent(50);  // false: this read takes fewer bytes
  std::vector<std::byte> space(patient ? kRoomMax : random_.log_between(1, kRoomMax));
  const IoResult result = stream_->read(space);
  switch (result.kind) {
    case IoResult::Kind::kWouldBlock:
      return;
    case IoResult::Kind::kEnd:
      return on_end("the end of the stream", false);
    case IoResult::Kind::kError:
      return on_end(std::strerror(result.error), true);
    case IoResult::Kind::kOk:
      connected_ = true;
      in_.append(reinterpret_cast<const char*>(space.data()), result.bytes);
  }
  take_answers();
  if (stream_ && random_.percent(plan_.slow_percent)) pause_reading();
}

void SimClient::pause_reading() {
  stream_->want_read(false);
  read_on_->set(host_.now() + random_.between(Duration(0), kSlowMax));
}

void SimClient::take_answers() {
  Dialect dialect = plan_.dialect;
  while (stream_) {
    const Decoded decoded = decode(dialect, in_);
    if (decoded.kind == Decoded::Kind::kNeedMore) return;
    if (decoded.kind == Decoded::Kind::kBroken) {
      return book_.broken("bytes: " + host_.name() + " cannot read what it got on connection " +
                          std::to_string(connection_));
    }
    SimCall* expected = outstanding_.empty() ? nullptr : outstanding_.front();
    if (SimCall* failed = oneway_that(decoded.message)) {
      // After an exception for a call that may be oneway, the daemon ends the connection, because
      // the daemon cannot know whether the client expects an answer.
      disturbed_ = true;
      book_.on_answer(failed, decoded.message, std::string_view(in_).substr(0, decoded.bytes));
      in_.erase(0, decoded.bytes);
      continue;
    }
    book_.on_answer(expected, decoded.message, std::string_view(in_).substr(0, decoded.bytes));
    if (expected == nullptr) return;
    if (is_possible(*expected) && !expected->failure.empty())
      disturbed_ = true;  // the daemon ends the connection after this answer
    in_.erase(0, decoded.bytes);
    has_reply_ = expected->failure.empty();
    last_answered_ = expected->id;
    outstanding_.pop_front();
    after_answer();
  }
}

void SimClient::after_answer() {
  if (random_.percent(plan_.leaves_percent)) return leave(random_.percent(50));
  if (calls_left_here_ != 0) {
    if (outstanding_.empty() || random_.percent(50)) {
      next_->set(host_.now() + random_.between(Duration(0), kThinkMax));
    }
    return;
  }
  if (!outstanding_.empty() || !out_.empty() || said_end_) return;
  if (keeps_connection_ && calls_left_ == 0) {
    done_ = true;
    return;
  }
  leave(false);
}

// --- Ends ---

// Returns true if the daemon may end the connection now. `reset` says that the connection ended
// with an error (RST).
bool SimClient::may_end(bool reset) const {
  const auto can_resume = [](auto* call) { return call->outlives_lane && !call->reply_begun; };
  if (std::ranges::any_of(outstanding_, can_resume)) return false;
  // It may if the simulation disturbs the connection, nothing listens, or the server is hostile.
  if (disturbed_ || !connected_ || plan_.of_liar) return true;
  if (said_end_ && in_.empty() &&
      std::ranges::all_of(outstanding_, [](auto* call) { return is_possible(*call); }))
    return true;
  if (book_.no_failures()) return false;
  // In mirror mode, the client's connection ends after its connection to the server has ended. But
  // first, the daemon must answer all calls that the server may have seen.
  if (plan_.mirrored && !reset && in_.empty()) {
    return std::ranges::all_of(outstanding_,
                               [](auto* call) { return call->seen == 0 || is_possible(*call); });
  }
  // The daemon ends the connection if the server broke off a reply in the middle. An RST can
  // destroy the part of the reply that was already sent.
  const bool cut = std::ranges::any_of(outstanding_, &SimCall::reply_begun);
  return cut && (reset || !in_.empty());
}

// Returns true if the number of calls that may be oneway has reached the daemon's limit. From then
// on, the daemon can carry the connection byte for byte.
bool SimClient::may_be_bytes() const {
  const auto possible = [](const SimCall* call) { return is_possible(*call); };
  return static_cast<size_t>(std::ranges::count_if(outstanding_, possible) +
                             std::ranges::count_if(oneways_, possible)) >= plan_.calls_out_max;
}

// Returns the oneway call that `message` answers if `message` is the daemon's own exception for a
// oneway call; otherwise returns nullptr. Answers arrive in the order of the calls. Therefore only
// a oneway call after the last answered call can match.
SimCall* SimClient::oneway_that(const Message& message) const {
  const Field* text = message.find(1);
  if (message.type != MessageType::kException || text == nullptr ||
      !text->text.starts_with("hatrpcd: ")) {
    return nullptr;
  }
  const auto found = std::ranges::find_if(oneways_, [&](const SimCall* call) {
    return is_possible(*call) && thrift::bare_name(call->name) == message.name &&
           call->seqid == message.seqid && !call->answered && call->id > last_answered_;
  });
  return found == oneways_.end() ? nullptr : *found;
}

void SimClient::on_end(const std::string& how, bool reset) {
  network_.say(host_.name() + " sees " + how + " on connection " + std::to_string(connection_));
  if (!may_end(reset)) {
    book_.broken("swallowed: connection " + std::to_string(connection_) + " ended (" + how +
                 ") with " + std::to_string(outstanding_.size()) + " calls unanswered" +
                 (outstanding_.empty() ? "" : ", first " + describe(*outstanding_.front())));
  }
  const bool seen = std::ranges::any_of(outstanding_, [](auto* call) { return call->seen != 0; });
  // An RST may have destroyed answers in flight. A drain does not wait for the calls of a
  // connection that the daemon carries byte for byte, because it does not know them.
  if (orderly_ends_ && !reset && !bytes_ && seen) {
    book_.broken("drain: connection " + std::to_string(connection_) +
                 " ended before its calls, first " + describe(*outstanding_.front()));
  }
  leave(false);
}

void SimClient::leave(bool abort) {
  network_.say(host_.name() + (abort ? " aborts" : " closes") + " connection " +
               std::to_string(connection_));
  // A close with unread answers sends an RST, which can destroy requests in flight.
  const bool orderly = !abort && out_.empty() && outstanding_.empty();
  // A server may answer a oneway call of an unknown function with an exception. If the daemon
  // closes the upstream connection without reading this exception, the server gets an RST, and
  // later oneway calls can be lost.
  bool answered = false;
  for (SimCall* call : std::exchange(oneways_, {})) {
    call->must_arrive = orderly && !answered;
    answered = answered || call->behaviour == Behaviour::kAppException;
  }
  for (SimCall* call : outstanding_) call->abandoned = true;
  outstanding_.clear();
  if (abort) stream_->abort_on_close();
  stream_->want_read(false);
  stream_->want_write(false);
  ended_ = std::move(stream_);
  host_.post([this] { ended_.reset(); });
  next_connection();
}

void SimClient::next_connection() {
  if (calls_left_ == 0) {
    done_ = true;
    next_->cancel();
    return;
  }
  next_->set(host_.now() + random_.between(Duration(0), kReconnectMax));
}

std::string SimClient::what_it_waits_for() const {
  if (outstanding_.empty()) return host_.name() + " is not done";
  return host_.name() + " waits on connection " + std::to_string(connection_) + " for " +
         describe(*outstanding_.front());
}

}  // namespace hat::sim
