// SPDX-License-Identifier: Apache-2.0
// tests/sim/call_book.h: what every simulated call is owed, what came of it, and which promise was
// broken.
//
// Clients write down what they send and receive, servers what they see; the book knows the only
// right answers. The promises are those of docs/architecture.md: at most once, nothing swallowed,
// order, and bytes as they were.
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

// What the server does with a call.
enum class Behaviour : uint8_t {
  kReply,
  kDeclaredException,
  kAppException,
  kSilent,     // never answers, and reads no further on this connection
  kHangUp,     // closes the connection instead
  kHalfReply,  // closes it in the middle of the reply
};

struct SimCall {
  // The plan.
  uint64_t id = 0;
  uint64_t connection = 0;
  const Dialect* dialect = nullptr;
  std::string name;  // on the wire: "Service:method" where multiplexed
  MessageType type = MessageType::kCall;
  bool two_way = true;
  int32_t seqid = 0;
  size_t request_bytes = 0;
  size_t reply_bytes = 0;
  Behaviour behaviour = Behaviour::kReply;
  Duration server_time{};
  std::optional<Duration> timeout;
  bool of_liar = false;  // its server is hostile: the call may fail, and no reply may be wrong
  bool prompt = false;   // small and alone: nothing but its server may make it wait

  // What came of it.
  TimePoint sent_at{};
  uint32_t seen = 0;         // by a server
  bool reply_begun = false;  // some of it left the server
  bool answered = false;
  bool abandoned = false;  // its client left, or its connection ended
  bool unseen_promised = false;
  bool must_arrive = false;  // oneway, written whole, and its client left in good order
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

  // Whether the request is one of the book's, but for its sequence id.
  bool has(const Message& message) const;
  // A server has read a whole request on one of its connections; nullptr where it is no call's.
  SimCall* on_request(const Dialect& dialect, const Message& message, uint64_t upstream);
  // A client has read a whole message; `expected` is the call whose answer comes next, or nullptr.
  void on_answer(SimCall* expected, const Message& message, std::string_view bytes);

  // A promise is broken. The first one is kept, and ends the run.
  void broken(const std::string& what);
  const std::string& first_broken() const { return first_broken_; }

  // Each upstream connection serves one client connection alone (mirrored upstreams).
  void upstream_is_mirrored(uint64_t upstream) { mirrored_[upstream] = 0; }
  // The tokens that what befalls this run may lead to. With none, calls of one connection keep
  // their order even from one upstream connection to the next.
  void allow(std::vector<std::string_view> failures) { allowed_ = std::move(failures); }
  bool no_failures() const { return allowed_.empty(); }
  // Nothing holds up the clients or their own daemon, so that time-outs are kept to the moment.
  void expect_prompt_answers() { prompt_ = true; }

  uint64_t replies() const { return replies_; }
  uint64_t exceptions() const { return exceptions_; }

 private:
  void on_exception(SimCall& call, const Message& message);
  void check_time(const SimCall& call);
  void check_order(const SimCall& call, uint64_t upstream);

  SimNetwork& network_;
  std::deque<SimCall> calls_;  // id n at n - 1
  std::map<uint64_t, uint64_t> mirrored_;
  std::set<std::pair<uint64_t, int32_t>> shared_ids_;              // by upstream
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> newest_seen_;  // by upstream and connection
  std::vector<std::string_view> allowed_;
  bool prompt_ = false;
  uint64_t replies_ = 0;
  uint64_t exceptions_ = 0;
  std::string first_broken_;
};

std::string describe(const SimCall& call);

}  // namespace hat::sim
