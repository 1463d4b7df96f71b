// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_connection.h: one application's connection to a local endpoint.
//
// The connection's bytes become calls on a stream to a peer daemon. The answers become bytes again,
// in the order of the calls.
//
//   kCalls    the daemon follows the messages; every two-way call gets exactly one answer
//   kOpaque   the daemon carries the bytes unread, in both directions, half-close included
//
// Its parts: UnitReader finds the requests in the bytes, CallQueue has the calls that await their
// answers, and OutboundStream is the way to the peer.
//
// Bounds   In each direction at most a stream's window of bytes is on its way. The connection stops
//          reading when a limit is reached and continues when there is space. If as many calls are
//          unanswered as limits.max_pipelined allows, and none of them need ever be answered, the
//          connection becomes opaque.
// Thread   the worker's.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/buffered_writer.h"
#include "base/byte_queue.h"
#include "base/reactor.h"
#include "config/node.h"
#include "daemon/proxy/call.h"
#include "daemon/proxy/outbound/call_queue.h"
#include "daemon/proxy/outbound/outbound_stream.h"
#include "daemon/proxy/successor.h"
#include "daemon/proxy/unit_reader.h"
#include "daemon/routing/routing_table.h"
#include "engine/frame.h"

namespace hat {

class Worker;

class ClientConnection final : public StreamEvents, private UnitSink, private Deadline {
 public:
  ClientConnection(Worker& worker, size_t endpoint, const ListenerEvents::Accept& accept);
  ~ClientConnection() override;

  // Handles events that the worker passes on.
  void on_frame(const engine::FrameHeader& header, Bytes payload);
  void on_session_lost(const std::string& reason);  // the stream's link broke
  void on_link_uncongested() { resume(); }
  void on_link_leaves();  // calls that begin from now on use another link
  void detach_if_due();   // begins a move if one is due and not too many are running
  void on_link_news();    // while waiting: a link came up, or an attempt failed
  void on_call_deadline(Call& call);
  // How long the connection waits for calls that may be oneway after the application's FIN.
  static constexpr Duration kServerEndWait = std::chrono::minutes(1);
  // How long a call that wants another lane waits for the answers to the calls before it.
  static constexpr Duration kLaneWait = std::chrono::milliseconds(100);
  // How long the daemon reads and drops input after the connection's end.
  static constexpr Duration kLingerTime = std::chrono::seconds(2);
  bool idle() const { return calls_.empty() && out_.empty() && !(stream_.moves() && leaves()); }
  // Continues a connection that another process had. That process has read the bytes `read` and
  // used none of them. `server` is the connection to the server that a peer keeps, or null if there
  // is none.
  void go_on(Bytes read, const KeptServer* server);
  // Gives the connection to the successor if no call is in flight on it. Returns false if the
  // channel to the successor is full; the worker then tries again.
  bool hand_over(Successor& successor);
  void on_successor_gone();
  size_t endpoint() const { return endpoint_; }
  uint32_t lane_number() const { return stream_.lane_number(); }

 private:
  enum class Mode : uint8_t { kCalls, kOpaque };

  // The stages of a connection's life. They only go forward; each may be followed by any later one.
  enum class Life : uint8_t {
    kOpen,
    kEnding,     // no call begins any more; those in flight are answered first
    kLingering,  // FIN was sent after the last answer. Input is read and dropped, because closing
                 // with unread bytes sends RST, which would destroy answers on their way
    kClosed,
  };
  // The application's input: kOpen ──▶ kEnded ──▶ kPassedOn.
  enum class Input : uint8_t {
    kOpen,
    kEnded,     // its FIN has arrived
    kPassedOn,  // kEnd was sent to the peer after all input
  };
  // The input from the far side of an opaque connection: kOpen ──▶ kEnded ──▶ kPassedOn.
  enum class FarEnd : uint8_t {
    kOpen,
    kEnded,     // the far side sends no more
    kPassedOn,  // the application has its FIN, after all bytes
  };
  // The object for which the current call, or the bytes of an opaque connection, wait. A state
  // other than kNone is entered from kNone, and left for kNone.
  enum class Wait : uint8_t {
    kNone,
    kLink,  // a link to a peer; no stream exists
    kLane,  // the answers to earlier calls, after which the stream may use another lane or link
  };

  // Handles bytes from the application.
  void on_readable() override;
  void take(Bytes bytes);
  void take_backlog();
  bool on_head(const thrift::Head& head) override;
  bool on_piece(Bytes piece, bool last) override;
  void on_opaque(Bytes bytes) override;
  bool blocked();
  void resume();
  void want_read(bool wanted);
  size_t read_budget() const;
  size_t input_bytes() const { return backlog_.size() + reader_.held_bytes(); }
  void count_input();

  // Moves to the successor, and to the peer's successor, in client_moves.cc.
  bool leaves() const;
  bool may_be_handed_over() const;
  bool between_calls() const;
  bool may_detach() const;
  void on_detached(Bytes payload);
  void reach_server();

  // Calls.
  bool begin_call(const thrift::Head& head);
  void add_message(const thrift::Head& head);
  void end_request();
  void bound_possible_calls();
  void become_opaque();
  Call& add_call(const thrift::Head& head, const Route& route);
  const Route& route(std::string_view name) const;
  Reply reply_to(const thrift::Head& head, const Route& route) const;
  bool waits_for_link() const { return wait_ == Wait::kLink; }
  bool waits_for_lane() const { return wait_ == Wait::kLane; }
  void wait_for(Wait what);
  void start_waiting();
  void stop_waiting();
  void on_deadline() override;  // of the wait for a link or for the server's end, of lingering
  void on_no_link();
  struct LaneWait final : Deadline {
    explicit LaneWait(ClientConnection& its) : connection(its) {}
    void on_deadline() override;
    ClientConnection& connection;
  };

  // Uses the stream to the peer daemon.
  bool have_stream();
  bool find_way(Call& call);
  bool take_lane(Call& call);
  void leave_current() {  // the rest of the call's unit may still arrive
    current_ = nullptr;
    if (waits_for_lane()) wait_for(Wait::kNone);
  }
  bool quiet() const { return stream_.all_taken() && (!stream_.opened() || calls_.size() == 1); }
  void forget_stream();
  void leave_stream(engine::FrameKind last);

  // Answers, in client_answers.cc.
  void on_writable() override;
  void on_reply(const engine::FrameHeader& header, Bytes payload);
  void on_fail(const engine::FrameHeader& header, Bytes payload);
  void on_no_reply(Call& call);
  void note_end(const Call& call);
  void on_raw(Bytes payload);
  void on_far_end();
  void on_reset(Bytes payload);
  void lose_stream(engine::Failure failure, const std::string& reason);
  void fail(Call& call, engine::Failure failure, std::string detail);
  void mark_failed(Call& call, engine::Failure failure, std::string detail);
  void fail_opaque(engine::Failure failure, const std::string& detail);
  void answer_failed_calls();
  void write_exceptions(const Call& call);
  void finish(Call& call, CallOutcome outcome);
  enum class From : uint8_t { kStream, kSelf };
  void write(Bytes bytes, From from);
  void wrote(size_t bytes);

  // Ends, in client_ends.cc.
  bool over() const { return life_ >= Life::kLingering; }
  void advance_to(Life next);
  void on_end_of_input();
  void pass_end();
  void on_server_end_wait();
  void end_after_answers();
  void end_without_answers();
  void close_if_done();
  void linger();
  void drop_input();
  void let_go();
  void close(bool abort);

  Worker& worker_;
  const size_t endpoint_;
  Mode mode_ = Mode::kCalls;
  Life life_ = Life::kOpen;
  Input input_ = Input::kOpen;
  FarEnd far_end_ = FarEnd::kOpen;
  bool reading_ = false;
  bool stays_ = false;   // the connection cannot go to the successor
  bool taking_ = false;  // take() is running and must not be entered again
  Wait wait_ = Wait::kNone;
  uint64_t ticket_ = 0;  // for stop_waiting()
  TimePoint waiting_since_{};
  LaneWait lane_wait_{*this};

  // While limits.max_buffered is reached: how much one read takes, and how much may be held back
  // until a message's head is complete.
  static constexpr size_t kInputBytesOverLimit = 4096;
  size_t counted_input_ = 0;  // of input_bytes(), the part counted towards limits.max_buffered
  UnitReader reader_;
  ByteQueue backlog_;                          // read, but not yet examined
  Call* current_ = nullptr;                    // the call whose unit is arriving
  std::optional<engine::Failure> discarding_;  // why the current unit's call has failed

  CallQueue calls_;
  OutboundStream stream_;
  BufferedWriter out_;    // answers
  size_t ungranted_ = 0;  // bytes in out_ for which no credit of this stream was spent
  std::unique_ptr<ByteStream> client_;
};

}  // namespace hat
