// SPDX-License-Identifier: Apache-2.0
// tests/sim/call_book.h: records each simulated call, what must come of it and what did, and the
// first promise that was broken.
//
// Clients record what they send and receive, and servers record what they see; the book knows the
// only right answers. The promises are those of docs/architecture.md: at most once, nothing
// swallowed, order, and unchanged bytes.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/sim/sim_network.h"
#include "tests/sim/sim_thrift.h"

namespace hat::sim {

// The server's reaction to a call.
enum class Behaviour : uint8_t {
  kReply,
  kDeclaredException,
  kAppException,
  kSilent,     // never answers, and reads no further on this connection
  kHangUp,     // closes the connection instead
  kHalfReply,  // closes the connection in the middle of the reply
};

// One call of the simulation: its plan, and what each party has seen of it.
// Members  Each boolean is a fact that some party has recorded, in any order.
struct SimCall {
  // --- The plan ---
  uint64_t id = 0;
  uint64_t connection = 0;
  const Dialect* dialect = nullptr;
  std::string name;  // on the wire: "Service:method" if multiplexed
  MessageType type = MessageType::kCall;
  bool two_way = true;
  int32_t seqid = 0;
  size_t request_bytes = 0;
  size_t reply_bytes = 0;
  Behaviour behaviour = Behaviour::kReply;
  Duration server_time{};
  std::optional<Duration> timeout;
  bool of_liar = false;  // its server is hostile: the call may fail, but no reply may be wrong
  bool prompt = false;   // small and alone: only its server may delay it

  // --- The result ---
  TimePoint sent_at{};
  uint32_t seen = 0;         // how often servers have seen it
  bool reply_begun = false;  // the server has begun to send the reply
  bool answered = false;
  bool abandoned = false;  // its client left, or its connection ended
  bool unseen_promised = false;
  bool must_arrive = false;  // oneway, sent completely, and its client closed in good order
  std::string failure;       // the token of the daemon's exception
};

class CallBook {
 public:
  explicit CallBook(SimNetwork& network) : network_(network) {}

  SimCall& add(SimCall call);
  std::deque<SimCall>& calls() { return calls_; }

  static Message request(const SimCall& call);
  static Message reply(const SimCall& call, int32_t seqid);
  static std::string reply_bytes(const SimCall& call, int32_t seqid);

  // Returns true if the request is in the book; its sequence id may differ.
  bool has(const Message& message) const;
  // Records that a server has read a whole request on one of its connections. Returns nullptr if
  // the request belongs to no call.
  SimCall* on_request(const Dialect& dialect, const Message& message, uint64_t upstream);
  // Records that a client has read a whole message; `expected` is the call whose answer is due
  // next, or nullptr.
  void on_answer(SimCall* expected, const Message& message, std::string_view bytes);

  // Records that hatrpcd has broken a promise to an application. The record has only the first
  // broken promise, which ends the run.
  void broken(const std::string& what);
  const std::string& first_broken() const { return first_broken_; }

  // Records that this upstream connection serves only one client connection (mirror mode).
  void upstream_is_mirrored(uint64_t upstream) { mirrored_[upstream] = 0; }
  // Sets the failure tokens with which the faults of this run may end calls. If there are none, the
  // calls of one client connection keep their order even if they use several upstream connections.
  void allow(std::vector<std::string_view> failures) { allowed_ = std::move(failures); }
  bool no_failures() const { return allowed_.empty(); }
  // Records that nothing delays the clients or their own daemon, so that time-outs must be exact.
  void expect_prompt_answers() { prompt_ = true; }

  uint64_t replies() const { return replies_; }
  uint64_t exceptions() const { return exceptions_; }

 private:
  void on_exception(SimCall& call, const Message& message);
  void check_time(const SimCall& call);
  void check_order(const SimCall& call, uint64_t upstream);

  SimNetwork& network_;
  std::deque<SimCall> calls_;  // call id n is at index n - 1
  std::map<uint64_t, uint64_t> mirrored_;
  std::set<std::pair<uint64_t, int32_t>> shared_ids_;              // upstream and id
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> newest_seen_;  // by upstream and connection
  std::vector<std::string_view> allowed_;
  bool prompt_ = false;
  uint64_t replies_ = 0;
  uint64_t exceptions_ = 0;
  std::string first_broken_;
};

std::string describe(const SimCall& call);

}  // namespace hat::sim
