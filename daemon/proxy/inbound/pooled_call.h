// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/pooled_call.h: one client's call at a time over a connection to the server
// that many clients share (upstream mode `shared`).
//
// What keeps the replies apart:
//   · a connection is lent for one whole request, which is one message and understood to its last
//     byte;
//   · the call goes by an id that is unique on the connection, and nobody outside can guess;
//   · the reply must have that id and the function's name, be one message, and end where the bytes
//     do. Anything else closes the connection, and the call fails;
//   · the reply is taken from the server as fast as it comes, up to limits.shared_reply: a caller
//     that does not read holds up itself.
// A stock server answers a oneway call with an exception where it does not know the function. The
// connection remembers the ids of its oneway calls, and such an answer is dropped.
//
//   kNone ──▶ kWaiting ──▶ kAsked ──▶ kAnswered ──▶ kNone
//                            └─ oneway ─▶ kParked ──▶ kNone, or the next call's kAsked
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

// Whose calls they are.
class PooledCallEvents {
 public:
  virtual ~PooledCallEvents() = default;
  // The request, whole, as it was when ask() was told of it. Asked for once, when it is written.
  virtual Bytes pooled_request() = 0;
  // The server will have all of it; it is nobody else's any more. A oneway call has ended.
  virtual void on_pooled_request_sent() = 0;
  // After a oneway call: the next one may be asked, or the server has taken all of it.
  virtual void on_pooled_free() = 0;
  // More of the reply has come; see answer().
  virtual void on_pooled_answer() = 0;
  // The call has ended without a whole reply. `delivered`: the server may have seen it.
  virtual void on_pooled_failure(engine::Failure failure, bool delivered,
                                 const std::string& detail) = 0;
};

class PooledCall final : public UpstreamUser, private UnitSink, private Deadline {
 public:
  // `share`: of the peer whose calls they are.
  PooledCall(Worker& worker, const ServedConfig& served, PeerShare& share, PooledCallEvents& events)
      : worker_(worker), served_(served), share_(share), events_(events) {}
  ~PooledCall() override { drop(); }

  enum class Reply : uint8_t { kExpected, kNone };
  // Begins a call; busy() must be false. Events may come before it returns.
  void ask(const thrift::WholeMessage& request, Reply reply);
  // A call is out: ask() waits for its end.
  bool busy() const { return state_ != State::kNone && state_ != State::kParked; }
  // Of the reply, what has come and was not taken; and whether that is all that is left of it.
  Bytes answer() const { return answer_.bytes(); }
  bool answer_is_whole() const { return state_ == State::kAnswered; }
  thrift::Outcome outcome() const { return outcome_; }
  void take_answer(size_t bytes);  // of a whole one, with all that is left, the call has ended
  // Nobody wants to hear of the call any more. The connection closes where it owes something.
  void drop() { leave(Connection::kGood); }
  // It gets no connection any more, though one becomes free.
  void stop_waiting();
  // Bytes of its requests are on their way to the server.
  bool sending() const { return connection_ != nullptr && connection_->backlog() != 0; }

  // From the pool.
  const ServedConfig& served() const { return served_; }
  void on_turn(std::unique_ptr<UpstreamConnection> connection);  // kWaiting
  // After a oneway call; and the server has taken all of that.
  bool parked() const { return state_ == State::kParked; }
  bool can_give_up() const {
    return connection_->takes_all() && !connection_->replies().inside_unit();
  }
  std::unique_ptr<UpstreamConnection> give_up();  // the pool's list of who is parked has it no more

 private:
  enum class State : uint8_t {
    kNone,
    kWaiting,   // for a connection
    kAsked,     // the request is the connection's; its reply has not come whole
    kAnswered,  // the pool has the connection again, and the caller not yet all of its reply
    kParked,    // no call; what comes next must not overtake the oneway call on this connection
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
  void on_opaque(Bytes) override { misunderstood_ = "bytes that are no Thrift"; }
  void on_deadline() override;

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
  std::optional<thrift::WholeMessage> request_;  // without its bytes
  int32_t id_ = 0;                               // on the connection
  std::unique_ptr<UpstreamConnection> connection_;

  // The reply that is being read.
  enum class Unit : uint8_t {
    kNone,    // its head has not come
    kAnswer,  // to the call
    kStray,   // to a oneway call: it is dropped
    kEnded,
  };
  Unit unit_ = Unit::kNone;
  std::string_view misunderstood_;  // why the connection must close; empty: it need not
  size_t envelope_left_ = 0;        // of the reply's bytes up to its struct
  thrift::Head head_;               // without its name
  std::vector<std::byte> envelope_;
  std::vector<std::byte> rewritten_;
  ByteQueue answer_;
  thrift::Outcome outcome_ = thrift::Outcome::kSuccess;
};

}  // namespace hat
