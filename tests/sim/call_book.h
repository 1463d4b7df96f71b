// SPDX-License-Identifier: Apache-2.0
// tests/sim/call_book.h: the record of each simulated call: the expected result, the actual result,
// and the first promise that hatrpcd broke.
//
// Simulated clients record each request they send and each answer they read. Simulated servers
// record each request they read. The class CallBook compares each request and answer with the only
// correct bytes. docs/architecture.md has the promises: each call is executed at most once, no call
// stays without an answer, calls keep their order, and bytes do not change.
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
  kSilent,     // never answers, and reads no later call of this connection
  kHangUp,     // closes the connection without a reply
  kHalfReply,  // closes the connection in the middle of the reply
};

// One call of the simulation: its plan, and the events of the call that the client and the server
// have recorded.
// Members  Each boolean of the result is one recorded fact. The facts can be set in any order.
struct SimCall {
  // --- The plan ---
  uint64_t id = 0;
  uint64_t connection = 0;
  const Dialect* dialect = nullptr;
  std::string name;  // as sent: "method", or "Service:method" if the call is multiplexed
  MessageType type = MessageType::kCall;
  bool two_way = true;
  int32_t seqid = 0;
  size_t request_bytes = 0;
  size_t reply_bytes = 0;
  Behaviour behaviour = Behaviour::kReply;
  Duration server_time{};
  std::optional<Duration> timeout;
  bool of_liar = false;  // the server is hostile: the call can fail, but no reply may be wrong
  bool prompt = false;   // small, and no other call before it: only the server can delay the call
  // If the call's RDMA lane is lost, the stream resumes, unless the reply was lost with the lane.
  bool outlives_lane = false;

  // --- The result ---
  TimePoint sent_at{};
  uint32_t seen = 0;         // how often servers have read the request
  bool reply_begun = false;  // the server has begun to send the reply
  bool came_late = false;    // a server has read it after a later call of its client
  bool answered = false;
  bool abandoned = false;        // the client closed the connection, or the connection ended
  bool unseen_promised = false;  // an exception promised that no server sees the request
  bool must_arrive = false;      // a server must see this oneway call, if no fault is injected
  std::string failure;           // the token of the daemon's exception; empty: no exception
};

class CallBook {
 public:
  explicit CallBook(SimNetwork& network) : network_(network) {}

  // Allows servers to read calls of the function with this name up to three times.
  void may_repeat(const std::string& function) { repeated_ = function; }
  SimCall& add(SimCall call);
  std::deque<SimCall>& calls() { return calls_; }

  static Message request(const SimCall& call);
  static Message reply(const SimCall& call, int32_t seqid);
  static std::string reply_bytes(const SimCall& call, int32_t seqid);

  // Returns true if `message` equals the request of a recorded call; sequence ids are not compared.
  bool has(const Message& message) const;
  // Records that a server has read the complete request `message` on the connection `upstream`.
  // Returns the request's call, or nullptr if no client has sent this request.
  SimCall* on_request(const Dialect& dialect, const Message& message, uint64_t upstream);
  // Records that a client has read the complete message `bytes`, which is decoded in `message`.
  // `expected` is the call that must be answered next, or nullptr if no call is unanswered.
  void on_answer(SimCall* expected, const Message& message, std::string_view bytes);

  // Records that hatrpcd has broken a promise to an application; `what` describes the promise. Only
  // the first broken promise is kept, because it ends the run.
  void broken(const std::string& what);
  const std::string& first_broken() const { return first_broken_; }

  // Records that the connection with the id `upstream` is in mirror mode: it carries the calls of
  // only one client connection.
  void upstream_is_mirrored(uint64_t upstream) { mirrored_[upstream] = 0; }
  // Sets the failure tokens with which calls may end in this run. If `failures` is empty, the calls
  // of one client connection must keep their order even across several upstream connections.
  void allow(std::vector<std::string_view> failures) { allowed_ = std::move(failures); }
  bool no_failures() const { return allowed_.empty(); }
  // Requires that each call with a time-out is answered in time. A run calls this if its faults
  // delay neither the clients nor the clients' daemon.
  void expect_prompt_answers() { prompt_ = true; }

  uint64_t replies() const { return replies_; }
  uint64_t exceptions() const { return exceptions_; }

 private:
  void on_exception(SimCall& call, const Message& message);
  void check_time(const SimCall& call);
  void check_order(SimCall& call, uint64_t upstream);
  bool may_be_repeated(const SimCall& call) const;

  SimNetwork& network_;
  std::deque<SimCall> calls_;              // the call with the id n is at index n - 1
  std::map<uint64_t, uint64_t> mirrored_;  // client connection by upstream connection; 0: no call
  std::set<std::pair<uint64_t, int32_t>> shared_ids_;  // upstream connection and sequence id
  // The highest call id that a server has read, by upstream connection and client connection. In a
  // run in which calls must not fail, the upstream connection counts as 0.
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> newest_seen_;
  std::map<uint64_t, uint64_t> newest_of_client_;  // as above, on all upstream connections
  std::vector<std::string_view> allowed_;
  std::string repeated_;  // see may_repeat()
  bool prompt_ = false;
  uint64_t replies_ = 0;
  uint64_t exceptions_ = 0;
  std::string first_broken_;
};

std::string describe(const SimCall& call);

}  // namespace hat::sim
