// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/pooled_call.h: one call of one client at a time, on a connection to the
// server that many clients share (`mode: shared`).
//
// These rules make sure that a client gets only the replies to its own calls:
//   · A call gets a connection only when its whole request has arrived, and the request is exactly
//     one message that the daemon could parse to its last byte.
//   · The daemon replaces the request's sequence id by an id that is unique on the connection and
//     that no client can guess.
//   · The reply must be one message with this id and the function's name, and no bytes may follow.
//     After any other reply the daemon closes the connection, and the call fails.
//   · The daemon reads the reply as fast as the server sends it, up to limits.shared_reply, so that
//     a client which reads slowly does not delay the calls of other clients.
// A stock server answers a oneway call of an unknown function with an exception. The connection
// remembers the ids of its oneway calls, and drops such an answer.
//
//   kNone ──▶ kWaiting ──▶ kAsked ──▶ kAnswered ──▶ kNone
//                            └─ oneway ─▶ kParked ──▶ kNone, or the next call's kAsked
//   From any state, a call that is dropped or fails changes to kNone.
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

// Receives the events of a PooledCall. The stream that owns the PooledCall implements it.
class PooledCallEvents {
 public:
  virtual ~PooledCallEvents() = default;
  // Returns the bytes of the request that ask() described. PooledCall calls this once for each
  // call, when it writes the request.
  virtual Bytes pooled_request() = 0;
  // Reports that the whole request was passed to the connection, so the owner can free the
  // request's bytes. A oneway call ends with this event.
  virtual void on_pooled_request_sent() = 0;
  // Reports, after a oneway call, that ask() can be called, that the server has taken the whole
  // oneway call, or that the connection of the oneway call has failed.
  virtual void on_pooled_free() = 0;
  // Reports that more bytes of the reply have arrived, which answer() returns.
  virtual void on_pooled_answer() = 0;
  // Reports that the call has ended without a whole reply. `delivered` is true if the server may
  // have seen the call.
  virtual void on_pooled_failure(engine::Failure failure, bool delivered,
                                 const std::string& detail) = 0;
};

class PooledCall final : public UpstreamUser, private UnitSink, private Deadline {
 public:
  // Makes calls of `served` for one peer, whose use of the limits `share` counts.
  PooledCall(Worker& worker, std::shared_ptr<const Served> served, PeerShare& share,
             PooledCallEvents& events)
      : worker_(worker), served_(std::move(served)), share_(share), events_(events) {}
  ~PooledCall() override { drop(); }

  enum class Reply : uint8_t { kExpected, kNone };
  // Begins a call. Call it only while busy() returns false. It can call functions of
  // PooledCallEvents before it returns.
  void ask(const thrift::WholeMessage& request, Reply reply, Priority priority);
  // Returns true if a call is in flight, so that ask() must not be called.
  bool busy() const { return state_ != State::kNone && state_ != State::kParked; }
  // Returns the bytes of the reply that have arrived and were not removed by take_answer().
  Bytes answer() const { return answer_.bytes(); }
  // Returns true if the reply has arrived to its end.
  bool answer_is_whole() const { return state_ == State::kAnswered; }
  thrift::Outcome outcome() const { return outcome_; }
  // Removes `bytes` bytes from the front of answer(). The call ends when the last byte of the reply
  // is removed.
  void take_answer(size_t bytes);
  // Ends the call without an event. Closes the connection if a reply is expected on it.
  void drop() { leave(Connection::kGood); }
  // Ends a call that waits for a connection, without an event. Does nothing in other states.
  void stop_waiting();
  // Returns true if bytes of a request wait to be written to the server.
  bool sending() const { return connection_ != nullptr && connection_->backlog() != 0; }

  // --- For UpstreamPool ---
  const std::shared_ptr<const Served>& served() const { return served_; }
  // Gives a connection to the call, which waits for one.
  void on_turn(std::unique_ptr<UpstreamConnection> connection);
  // Returns true if no call is in flight and the connection of the last call, which was oneway, is
  // kept for the next call.
  bool parked() const { return state_ == State::kParked; }
  // Returns true if another call can have the connection: the server has taken the whole oneway
  // call, and no part of a reply has arrived. Call it only while parked() returns true.
  bool can_give_up() const {
    return connection_->takes_all() && !connection_->replies().inside_unit();
  }
  // Ends the parked state and returns the connection. The pool must have removed this PooledCall
  // from its list of parked calls.
  std::unique_ptr<UpstreamConnection> give_up();
  // Returns true if the call's connection goes to an address that the server has.
  bool connection_is_current() const { return connection_->is_at_current_address(); }

 private:
  enum class State : uint8_t {
    kNone,
    kWaiting,   // the call waits for a connection
    kAsked,     // the request was passed to the connection, and the reply is not complete
    kAnswered,  // the reply is complete and the pool has the connection; take_answer() must follow
    // No call is in flight. The connection of the last call, which was oneway, is kept, because the
    // next call on another connection could overtake the oneway call.
    kParked,
  };

  PeerShare& share() const override { return share_; }
  size_t read_budget() override;
  void on_upstream_connected() override { end(); }
  void on_upstream_bytes(Bytes bytes) override;
  void on_upstream_wrote(size_t bytes) override;
  void on_upstream_end() override;
  void on_upstream_broke(const std::string& reason) override;
  bool on_head(const thrift::Head& head) override;
  bool on_piece(Bytes piece, bool last) override;
  void on_opaque(Bytes) override { misunderstood_ = "bytes that are not Thrift"; }
  void on_deadline() override;

  // The reply that is being read.
  //   kNone ──▶ kAnswer ──▶ kEnded ──▶ kNone
  //     └─────▶ kStray ──────────────▶ kNone
  enum class Unit : uint8_t {
    kNone,    // no head of a reply has arrived
    kAnswer,  // the reply answers the call
    kStray,   // the reply answers a oneway call, and is dropped
    kEnded,   // the reply to the call has arrived to its end
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
  const std::shared_ptr<const Served> served_;
  PeerShare& share_;
  PooledCallEvents& events_;
  State state_ = State::kNone;
  Reply reply_ = Reply::kNone;
  std::optional<thrift::WholeMessage> request_;  // describes the request, without its bytes
  int32_t id_ = 0;                               // the call's sequence id on the connection
  std::unique_ptr<UpstreamConnection> connection_;

  Unit unit_ = Unit::kNone;
  std::string_view misunderstood_;  // why the connection must close; empty: it stays open
  size_t envelope_left_ = 0;        // bytes of the reply before its struct that have not arrived
  thrift::Head head_;               // the reply's head, without a valid name
  std::vector<std::byte> envelope_;
  std::vector<std::byte> rewritten_;
  ByteQueue answer_;
  thrift::Outcome outcome_ = thrift::Outcome::kSuccess;
};

}  // namespace hat
