// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/call_book.h"

#include <algorithm>

#include "daemon/proxy/inbound/upstream.h"
#include "engine/failure.h"

namespace hat::sim {
namespace {

// Returns `bytes` characters in which each one depends only on the call's `id` and the position, so
// that a byte of another call or position is recognised.
std::string payload(uint64_t id, size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + (id * 7 + i + i / 26) % 26);
  return text;
}

// Codes of Thrift's TApplicationException.
constexpr int32_t kInternalError = 6, kProtocolError = 7;

// Returns true if the failure `token` promises that no server has seen or will see the call.
bool promises_unseen(std::string_view token) {
  for (const auto& text : engine::kFailureTexts) {
    if (text.token == token) return text.meaning.find("may have seen") == std::string_view::npos;
  }
  return false;
}

bool known(std::string_view token) {
  return std::ranges::any_of(engine::kFailureTexts,
                             [&](const auto& text) { return text.token == token; });
}

}  // namespace

std::string describe(const SimCall& call) {
  return "call " + std::to_string(call.id) + " (" + call.name + ", " + call.dialect->name +
         ", connection " + std::to_string(call.connection) + ", " +
         std::to_string(call.request_bytes) + " bytes, reply " + std::to_string(call.reply_bytes) +
         ", behaviour " + std::to_string(static_cast<int>(call.behaviour)) + ")";
}

SimCall& CallBook::add(SimCall call) {
  call.id = calls_.size() + 1;
  call.sent_at = network_.now();
  calls_.push_back(std::move(call));
  network_.say("client sends " + describe(calls_.back()));
  return calls_.back();
}

Message CallBook::request(const SimCall& call) {
  Message message{.type = call.type, .name = call.name, .seqid = call.seqid};
  message.fields.push_back({1, Field::Kind::kI64, static_cast<int64_t>(call.id), ""});
  message.fields.push_back({2, Field::Kind::kText, 0, payload(call.id, call.request_bytes)});
  return message;
}

Message CallBook::reply(const SimCall& call, int32_t seqid) {
  Message message{.type = MessageType::kReply,
                  .name = std::string(thrift::bare_name(call.name)),
                  .seqid = seqid};
  const std::string text = payload(~call.id, call.reply_bytes);
  if (call.behaviour == Behaviour::kAppException) {
    message.type = MessageType::kException;
    message.fields = {{1, Field::Kind::kText, 0, text}, {2, Field::Kind::kI32, kInternalError, ""}};
  } else {
    const bool declared = call.behaviour == Behaviour::kDeclaredException;
    message.fields = {{static_cast<int16_t>(declared ? 1 : 0), Field::Kind::kText, 0, text}};
  }
  return message;
}

std::string CallBook::reply_bytes(const SimCall& call, int32_t seqid) {
  Dialect dialect = *call.dialect;
  if (dialect.encoding == Encoding::kBinaryOld) dialect.encoding = Encoding::kBinary;
  return encode(dialect, reply(call, seqid));
}

void CallBook::broken(const std::string& what) {
  network_.say("BROKEN: " + what);
  if (first_broken_.empty()) first_broken_ = what;
}

bool CallBook::has(const Message& message) const {
  const Field* id = message.find(1);
  if (id == nullptr || id->number < 1 || static_cast<size_t>(id->number) > calls_.size()) {
    return false;
  }
  Message expected = request(calls_[static_cast<size_t>(id->number) - 1]);
  expected.seqid = message.seqid;
  return message == expected;
}

SimCall* CallBook::on_request(const Dialect& dialect, const Message& message, uint64_t upstream) {
  const Field* id = message.find(1);
  if (id == nullptr || id->number < 1 || static_cast<size_t>(id->number) > calls_.size()) {
    broken("cross-talk: a server read a request that no client sent: " + message.name);
    return nullptr;
  }
  SimCall& call = calls_[static_cast<size_t>(id->number) - 1];
  network_.say("server sees " + describe(call));
  // On an upstream connection of shared mode, the daemon replaces the client's sequence id by an id
  // that is unique on this connection.
  Message expected = request(call);
  const bool mirrored = mirrored_.contains(upstream);
  if (!mirrored && message.seqid >= UpstreamConnection::kFirstId && message.seqid != call.seqid) {
    expected.seqid = message.seqid;
    if (!shared_ids_.insert({upstream, message.seqid}).second) {
      broken("two calls with one id on a shared connection: " + describe(call));
    }
  }
  if (message != expected || dialect.framing != call.dialect->framing ||
      dialect.encoding != call.dialect->encoding) {
    broken("bytes: the server read another request than was sent: " + describe(call));
  }
  constexpr uint32_t kAttempts = 3;  // as docs/guarantees.md says
  if (++call.seen > (may_be_repeated(call) ? kAttempts : 1)) {
    broken("at most once: seen too often: " + describe(call));
  }
  if (call.unseen_promised) {
    broken("the caller was told '" + call.failure + "', yet the server saw it: " + describe(call));
  }
  check_order(call, upstream);
  return &call;
}

bool CallBook::may_be_repeated(const SimCall& call) const {
  return call.two_way && thrift::bare_name(call.name) == repeated_;
}

void CallBook::check_order(SimCall& call, uint64_t upstream) {
  const auto mirrored = mirrored_.find(upstream);
  if (mirrored != mirrored_.end()) {
    if (mirrored->second == 0) mirrored->second = call.connection;
    if (mirrored->second != call.connection) {
      broken("cross-talk: two clients share a mirrored connection: " + describe(call));
    }
  }
  uint64_t& newest = newest_seen_[{no_failures() ? 0 : upstream, call.connection}];
  // Three kinds of calls may arrive after a later call of the same connection:
  //  - a call that was answered with a failure, if this failure leaves open whether it arrives;
  //  - a oneway call in a run with faults, because its client learns of no failure;
  //  - a call to a hostile server: it may have failed before its client has read the failure.
  const bool may_come_late =
      !call.failure.empty() || call.of_liar || (!call.two_way && !no_failures());
  if (call.id < newest && !may_come_late) {
    broken("order: the server saw a later call first: " + describe(call));
  }
  newest = std::max(newest, call.id);
  uint64_t& newest_of_client = newest_of_client_[call.connection];
  call.came_late |= call.id < newest_of_client;
  newest_of_client = std::max(newest_of_client, call.id);
}

void CallBook::on_answer(SimCall* expected, const Message& message, std::string_view bytes) {
  if (expected == nullptr) {
    return broken("an answer that nobody asked for: " + message.name + " seqid " +
                  std::to_string(message.seqid));
  }
  SimCall& call = *expected;
  call.answered = true;
  check_time(call);
  const Field* text = message.find(1);
  if (message.type == MessageType::kException && text != nullptr &&
      text->text.starts_with("hatrpcd: ")) {
    return on_exception(call, message);
  }
  ++replies_;
  network_.say("client reads the reply to " + describe(call));
  if (call.seen == 0) broken("a reply to what no server saw: " + describe(call));
  if (call.came_late && !may_be_repeated(call) && !call.of_liar) {
    broken("order: another server saw a later call first: " + describe(call));
  }
  if (bytes != reply_bytes(call, call.seqid)) {
    broken("order or bytes: another reply than the server gave: " + describe(call) + ", got " +
           message.name + " seqid " + std::to_string(message.seqid));
  }
}

void CallBook::check_time(const SimCall& call) {
  // An answer may come this much after the time-out, because of network latencies and event-loop
  // iterations.
  constexpr Duration kMargin = std::chrono::milliseconds(5);
  const Duration took = network_.now() - call.sent_at;
  if (!prompt_ || !call.prompt || !call.timeout || took <= *call.timeout + kMargin) return;
  broken("time-out: answered only after " +
         std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()) +
         " ms: " + describe(call));
}

void CallBook::on_exception(SimCall& call, const Message& message) {
  ++exceptions_;
  constexpr size_t kPrefixBytes = sizeof "hatrpcd: " - 1;
  const std::string& text = message.find(1)->text;
  call.failure = text.substr(kPrefixBytes, text.find(':', kPrefixBytes) - kPrefixBytes);
  network_.say("client reads '" + text + "' for " + describe(call));
  const Field* code = message.find(2);
  if (message.name != thrift::bare_name(call.name) || message.seqid != call.seqid ||
      code == nullptr || (code->number != kInternalError && code->number != kProtocolError)) {
    broken("an exception for another call: " + describe(call) + ", got " + message.name +
           " seqid " + std::to_string(message.seqid));
  }
  if (!known(call.failure)) broken("an exception without a token: " + text);
  call.unseen_promised = promises_unseen(call.failure) || call.failure == "too_large";
  if (call.unseen_promised && call.seen != 0) {
    broken("the caller was told '" + call.failure + "', yet the server saw it: " + describe(call));
  }
  if (call.failure == "deadline_exceeded" && !call.timeout) {
    broken("a call without a time-out was told it passed: " + describe(call));
  }
  if (call.outlives_lane && !call.reply_begun) {
    broken("resume: no reply was lost, and the call failed: " + text + ": " + describe(call));
  }
  constexpr std::string_view kOfLiars[] = {"upstream_closed", "deadline_exceeded", "overloaded",
                                           "upstream_unreachable"};
  const bool of_liar = call.of_liar && std::ranges::count(kOfLiars, call.failure) != 0;
  if (!of_liar && std::ranges::find(allowed_, call.failure) == allowed_.end()) {
    broken("a call failed for a reason that was not there: " + text + ": " + describe(call));
  }
}

}  // namespace hat::sim
