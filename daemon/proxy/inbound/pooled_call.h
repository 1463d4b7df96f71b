// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/pooled_call.h: one client's call at a time on a connection to the server
// that many clients share (upstream mode `shared`).
//
// The replies are kept apart as follows:
//   · A call gets a connection only when its request is complete, is exactly one message, and was
//     understood to its last byte.
//   · The call has a sequence id that is unique on the connection and that no client can guess.
//   · The reply must have that id and the function's name, be one message, and have no bytes after
//     it. Any other reply closes the connection, and the call fails.
//   · The daemon reads the reply as fast as the server sends it, up to limits.shared_reply, so a
//     caller that does not read holds up no other caller.
// A stock server answers a oneway call with an exception if it does not know the function. The
// connection remembers the ids of its oneway calls, and drops such an answer.
//
//   kNone ──▶ kWaiting ──▶ kAsked ──▶ kAnswered ──▶ kNone
//                            └─ oneway ─▶ kParked ──▶ kNone, or the next call's kAsked
//   A call that is dropped or fails changes from any state to kNone.
//
// Thread   the worker's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_queue.h"
#include "config/node.h"
#include "daemon/proxy/deadlines.h"
#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/inbound/upstream.h"
#include "daemon/proxy/unit_reader.h"
#include "daemon/thrift/envelope.h"
#include "engine/failure.h"

namespace hat {

class Worker;

// The owner of the calls.
class PooledCallEvents {
 public:
  virtual ~PooledCallEvents() = default;
  // Returns the whole request, with the bytes that ask() described. Called once, when the request
  // is written.
  virtual Bytes pooled_request() = 0;
  // Reports that the connection has the whole request; PooledCall does not use it any more. A
  // oneway call has ended.
  virtual void on_pooled_request_sent() = 0;
  // Reports, after a oneway call, that the next call may begin, or that the server has taken all of
  // the oneway call.
  virtual void on_pooled_free() = 0;
  // Reports that more of the reply has arrived; see answer().
  virtual void on_pooled_answer() = 0;
  // Reports that the call has ended without a whole reply. `delivered`: the server may have seen
  // the call.
  virtual void on_pooled_failure(engine::Failure failure, bool delivered,
                                 const std::string& detail) = 0;
};

class PooledCall final : public UpstreamUser, private UnitSink, private Deadline {
 public:
  // Makes calls for the peer that has this share of the limits.
  PooledCall(Worker& worker, const ServedConfig& served, PeerShare& share, PooledCallEvents& events)
      : worker_(worker), served_(served), share_(share), events_(events) {}
  ~PooledCall() override { drop(); }

  enum class Reply : uint8_t { kExpected, kNone };
  // Begins a call; busy() must be false. May call PooledCallEvents before it returns.
  void ask(const thrift::WholeMessage& request, Reply reply);
  // Returns true if a call is in flight. The caller must not call ask() before that call has ended.
  bool busy() const { return state_ != State::kNone && state_ != State::kParked; }
  // Returns the bytes of the reply that have arrived and were not taken. If answer_is_whole(), they
  // are the rest of the reply.
  Bytes answer() const { return answer_.bytes(); }
  bool answer_is_whole() const { return state_ == State::kAnswered; }
  thrift::Outcome outcome() const { return outcome_; }
  // Removes bytes from the front of answer(). The call ends with the last byte of a whole reply.
  void take_answer(size_t bytes);
  // Ends the call without an event. Its connection closes if a reply is due on it.
  void drop() { leave(Connection::kGood); }
  // Stops waiting for a connection, even if one becomes free.
  void stop_waiting();
  // Returns true if bytes of requests are on their way to the server.
  bool sending() const { return connection_ != nullptr && connection_->backlog() != 0; }

  // Functions for the pool.
  const ServedConfig& served() const { return served_; }
  void on_turn(std::unique_ptr<UpstreamConnection> connection);  // in kWaiting
  // Returns true after a oneway call. can_give_up() must be called only then, and returns true if
  // the server has taken all of that call and no reply is in the middle of arriving.
  bool parked() const { return state_ == State::kParked; }
  bool can_give_up() const {
    return connection_->takes_all() && !connection_->replies().inside_unit();
  }
  // Returns the connection; the pool has already removed the call from the parked ones.
  std::unique_ptr<UpstreamConnection> give_up();

 private:
  enum class State : uint8_t {
    kNone,
    kWaiting,   // for a connection
    kAsked,     // the connection has the request, and its reply is not complete
    kAnswered,  // the pool has the connection back; the caller has not taken all of its reply
    kParked,    // no call; the next one must not overtake the oneway call on this connection
  };

  PeerShare& share() const override { return share_; }
  size_t read_budget() const override;
  void on_upstream_connected() override { end(); }
  void on_upstream_bytes(Bytes bytes) override;
  void on_upstream_wrote(size_t bytes) override;
  void on_upstream_end() override;
  void on_upstream_broke(const std::string& reason) override;
  bool on_head(const thrift::Head& head) override;
  bool on_piece(Bytes piece, bool last) override;
  void on_opaque(Bytes) override { misunderstood_ = "bytes that are not Thrift"; }
  void on_deadline() override;

  // The reply that is being read: kNone ──▶ kAnswer ──▶ kEnded ──▶ kNone, or kNone ──▶ kStray ──▶
  // kNone.
  enum class Unit : uint8_t {
    kNone,    // its head has not arrived
    kAnswer,  // to the call
    kStray,   // to a oneway call, and dropped
    kEnded,
  };

  void change_to(State next);
  void change_to(Unit next);
  enum class Connection : uint8_t { kGood, kBroken };
  void leave(Connection connection);
  void begin(std::unique_ptr<UpstreamConnection> connection);
  void send();
  void take_piece(Bytes piece);
  bool keeps_too_much() const;
  void finish_reply();
  void let_go(bool reusable);
  void fail(engine::Failure failure, bool delivered, const std::string& detail);

  Worker& worker_;
  const ServedConfig& served_;
  PeerShare& share_;
  PooledCallEvents& events_;
  State state_ = State::kNone;
  Reply reply_ = Reply::kNone;
  std::optional<thrift::WholeMessage> request_;  // without the request's bytes
  int32_t id_ = 0;                               // the call's id on the connection
  std::unique_ptr<UpstreamConnection> connection_;

  Unit unit_ = Unit::kNone;
  std::string_view misunderstood_;  // why the connection must close; empty if it need not
  size_t envelope_left_ = 0;        // bytes of the reply before its struct that have not arrived
  thrift::Head head_;               // its name is not valid
  std::vector<std::byte> envelope_;
  std::vector<std::byte> rewritten_;
  ByteQueue answer_;
  thrift::Outcome outcome_ = thrift::Outcome::kSuccess;
};

}  // namespace hat
