// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_connection.h: the connection of one client to a local endpoint.
//
// A ClientConnection reads the client's requests and sends them as calls on a stream to a peer
// daemon. It writes the replies to the client in the order of the calls. It has one of two modes:
//
//   kCalls    the daemon follows the messages; every two-way call gets exactly one answer
//   kOpaque   the daemon carries the bytes unread in both directions, and passes on each FIN
//
// The parts of a ClientConnection:
//   UnitReader       finds the requests in the client's bytes
//   CallQueue        the calls that wait for their answers
//   OutboundStream   the stream to the peer
//
// Bounds   At most a stream's window of bytes is on its way in each direction. The connection stops
//          reading from the client when a limit is reached, and continues when there is space. If
//          limits.max_pipelined calls are unanswered, and all of them may be oneway, the connection
//          becomes opaque.
// Thread   the worker's.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/buffered_writer.h"
#include "base/byte_queue.h"
#include "base/reactor.h"
#include "config/node.h"
#include "daemon/metrics/call_record.h"
#include "daemon/proxy/call.h"
#include "daemon/proxy/outbound/call_queue.h"
#include "daemon/proxy/outbound/kept_request.h"
#include "daemon/proxy/outbound/outbound_stream.h"
#include "daemon/proxy/successor.h"
#include "daemon/proxy/unit_reader.h"
#include "daemon/routing/routing_table.h"
#include "engine/frame.h"

namespace hat {

class Worker;
struct ConnectionStatus;
enum class ConnectionOrder : uint8_t;
enum class WaitsFor : uint8_t;

class ClientConnection final : public StreamEvents,
                               private UnitSink,
                               private Deadline,
                               private engine::SendTurns::Member {
 public:
  ClientConnection(Worker& worker, std::shared_ptr<Endpoint> endpoint,
                   const ListenerEvents::Accept& accept);
  ~ClientConnection() override;

  // --- Events, which the worker or the link passes on ---
  // Handles a frame of the stream.
  void on_frame(const engine::FrameHeader& header, Bytes payload, FrameSource source);
  // Returns space in the client's ring for the payload of a frame that the lane of `asker` is about
  // to READ; returns no space if the payload must not go to the client at once.
  engine::Landing landing_for(const engine::FrameHeader& header, const LandingAsker& asker);
  // Handles the loss of the stream, whose link or RDMA lane broke.
  void on_session_lost(const std::string& reason);
  // Handles the loss of the stream's RDMA lane, while the link is up: asks the peer whether the
  // stream can continue. The peer must know the frame kResume.
  void on_lane_lost(const std::string& reason);
  // Ends the stream, because the peer has not answered this question in time, or has sent other
  // bytes before the answer.
  void give_up_stream(const std::string& why);
  // Handles the announcement that the peer shuts down: calls that begin from now on use another
  // link.
  void on_link_leaves();
  // Handles the announcement that a peer shuts down whose link a reload has retired: the connection
  // to the server cannot move, so a client with a server of its own is closed after its calls.
  void on_retired_peer_leaves();
  // Begins to move the connection to the server to another stream, if a takeover needs the move and
  // no call is in flight. Does nothing if too many moves are running.
  void detach_if_due();
  // Handles that a link came up or that an attempt to connect failed, while the connection waits
  // for a link.
  void on_link_news();
  // Handles the deadline of `call`.
  void on_call_deadline(Call& call);
  // How long, after the client's FIN, the connection waits for replies to calls that may be oneway.
  static constexpr Duration kServerEndWait = std::chrono::minutes(1);
  // How long a call that wants another lane waits for the answers to the calls before it.
  static constexpr Duration kLaneWait = std::chrono::milliseconds(100);
  // How long the daemon reads and drops the client's bytes after it has sent FIN to the client.
  static constexpr Duration kLingerTime = std::chrono::seconds(2);
  // Returns true if no call is in flight, no answer waits to be written, and no move in a takeover
  // is running.
  bool idle() const { return calls_.empty() && out_.empty() && !(stream_.moves() && leaves()); }
  // Continues a connection of the predecessor, the earlier hatrpcd of this node. The predecessor
  // has read the bytes `read`, and no call has used them. `server` is the connection to the server
  // that a peer keeps for the client, or null if there is none.
  void continue_from(Bytes read, const KeptServer* server);
  // Gives the connection to the successor if no call is in flight on the connection. Returns false
  // if the channel to the successor is full; the worker then tries again.
  bool hand_over(Successor& successor);
  // Continues in this process, because the successor is gone.
  void on_successor_gone();
  // Returns the number by which `order` sorts the connection; larger ones come first.
  uint64_t rank(ConnectionOrder order, TimePoint now) const;
  ConnectionStatus status(TimePoint now) const;
  // Returns the oldest unanswered call that is not oneway; null if there is none.
  const Call* oldest_unanswered() const;
  // Returns what this unanswered call waits for.
  WaitsFor waits_for(const Call& call) const;
  // Returns the peer of this unanswered call; empty if the call was not sent.
  std::string_view peer_of(const Call& call) const;
  // Returns the link of the stream; null if there is no stream.
  const PeerLink* link() const { return stream_.exists() ? &stream_.link() : nullptr; }
  Endpoint& endpoint() const { return *endpoint_; }
  uint32_t lane_number() const { return stream_.lane_number(); }
  // Returns true if the peer may use this lane for the stream.
  bool may_use_lane(uint32_t lane) const { return stream_.may_use(lane); }
  // Returns true while frames of the stream that were lost with a lane can still be sent again.
  bool awaits_resume() const { return stream_.is_suspended(); }

 private:
  enum class Mode : uint8_t { kCalls, kOpaque };

  // The stages of a connection's life, in order. A stage can be followed by any later stage.
  enum class Life : uint8_t {
    kOpen,
    kEnding,  // no new call begins; the calls in flight are still answered
    // FIN was sent to the client after the last answer. The daemon reads and drops the client's
    // bytes, because close() with unread bytes sends RST, and the RST would destroy answers that
    // are on their way.
    kLingering,
    kClosed,
  };
  // The bytes from the client: kOpen ──▶ kEnded ──▶ kPassedOn.
  enum class Input : uint8_t {
    kOpen,
    kEnded,     // the client's FIN has arrived
    kPassedOn,  // a kEnd frame was sent to the peer after the last byte
  };
  // The bytes from the server on an opaque connection: kOpen ──▶ kEnded ──▶ kPassedOn.
  enum class FarEnd : uint8_t {
    kOpen,
    kEnded,     // the server sends no more bytes
    kPassedOn,  // a FIN was sent to the client after the last byte
  };
  // The event for which the current call, or the bytes of an opaque connection, wait. Each change
  // is from kNone or to kNone.
  enum class Wait : uint8_t {
    kNone,
    kLink,  // a link to a peer must come up; no stream exists
    kLane,  // earlier calls must be answered before the stream can use another lane or link
  };

  // --- Bytes from the client ---
  void on_readable() override;
  void read_requests();
  void take(Bytes bytes);
  void take_backlog();
  bool on_head(const thrift::Head& head) override;
  bool on_piece(Bytes piece, bool last) override;
  void on_opaque(Bytes bytes) override;
  bool blocked();
  void resume();
  void on_turn() override;
  void want_read(bool wanted);
  size_t read_budget();
  size_t input_bytes() const { return backlog_.size() + reader_.held_bytes(); }
  void count_input();

  // --- Moves to the successor, and to the peer's successor; in client_moves.cc ---
  bool leaves() const;
  bool may_be_handed_over() const;
  bool between_calls() const;
  bool may_detach() const;
  void on_detached(Bytes payload);
  void reach_server();

  // --- Calls ---
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
  // Handles the end of the wait for a link, of kServerEndWait, or of kLingerTime.
  void on_deadline() override;
  void on_link();
  void on_no_link();
  struct LaneWait final : Deadline {
    explicit LaneWait(ClientConnection& its) : connection(its) {}
    void on_deadline() override;
    ClientConnection& connection;
  };

  // --- The stream to the peer daemon ---
  bool have_stream(FirstAttempts first_attempts = FirstAttempts::kAwait);
  bool stays_with_retired_link() const;
  bool use_better_peer(const Call& call);
  void note_failing_peer(engine::Failure failure, const Call* call);
  PeerLink* better_peer();
  void open_stream(PeerLink& peer);
  bool find_way(Call& call);
  bool wait_for_lane();
  void plan_for_peer(Call& call);
  bool take_lane(Call& call);
  // Forgets the call whose request is arriving. The rest of the request can still arrive.
  void leave_current() {
    current_ = nullptr;
    request_.drop();
    if (waits_for_lane()) wait_for(Wait::kNone);
  }
  bool quiet() const { return stream_.all_taken() && (!stream_.opened() || calls_.size() == 1); }
  void forget_stream();
  void leave_stream(engine::FrameKind last);

  // --- Deadlines of calls; in client_deadlines.cc ---
  void set_deadline(Call& call, const Route& route);

  // --- Calls that are sent again; in client_retries.cc ---
  // How often a call is sent at most.
  static constexpr uint32_t kAttemptsMax = 3;
  void keep_request(const Call& call, const Route& route);
  // A failure of a call; `peer` is the one that had the call.
  struct Loss {
    engine::Failure failure;
    bool delivered;  // the server may have seen the call
    bool may_leave;  // see OutboundStream::may_leave()
    const PeerLink* peer;
  };
  bool try_again(Call& call, const Loss& loss);
  bool may_try_again(const Call& call, const Loss& loss) const;
  void send_again();

  // --- A stream that has lost its lane; in client_resume.cc ---
  void on_resumed(Bytes payload);
  bool may_come_before_answer(const engine::FrameHeader& header) const;

  // --- Answers; in client_answers.cc ---
  void on_writable() override;
  void on_half_free() override { wrote(0); }
  void on_reply(const engine::FrameHeader& header, Bytes payload, FrameSource source);
  void on_fail(const engine::FrameHeader& header, Bytes payload);
  void on_no_reply(Call& call);
  void note_end(const Call& call);
  void on_raw(Bytes payload);
  void on_far_end();
  void on_reset(Bytes payload);
  void lose_stream(engine::Failure failure, bool delivered, const std::string& reason);
  void fail(Call& call, engine::Failure failure, std::string detail);
  void mark_failed(Call& call, engine::Failure failure, std::string detail);
  void fail_opaque(engine::Failure failure, const std::string& detail);
  void answer_failed_calls();
  void write_exceptions(const Call& call);
  void finish(Call& call, CallOutcome outcome);
  void note_speed(const Call& call, TimePoint end, TimePoint now);
  void note_ended(const Call& call, CallOutcome outcome, TimePoint now, bool is_late = false);
  CallRecord record_of(const Call& call, CallOutcome outcome, TimePoint now) const;
  enum class From : uint8_t { kStream, kSelf };
  void write(Bytes bytes, From from);
  void wrote(size_t bytes);

  // --- The end of the connection; in client_ends.cc ---
  bool over() const { return life_ >= Life::kLingering; }
  void advance_to(Life next);
  void on_end_of_input();
  void pass_end();
  void on_server_end_wait();
  void end_after_answers();
  void end_without_answers(const Call* late = nullptr);
  void close_if_done();
  void linger();
  void drop_input();
  void let_go();
  void forget_calls(const Call* late = nullptr);
  void close(bool abort);

  Worker& worker_;
  const std::shared_ptr<Endpoint> endpoint_;
  Mode mode_ = Mode::kCalls;
  Life life_ = Life::kOpen;
  Input input_ = Input::kOpen;
  FarEnd far_end_ = FarEnd::kOpen;
  bool reading_ = false;
  bool stays_ = false;      // the successor does not take the connection
  bool taking_ = false;     // take() is running and must not be called again
  bool pipelines_ = false;  // a call began before the one before it was answered
  Wait wait_ = Wait::kNone;
  struct LinkWait {
    uint64_t ticket = 0;  // from Worker::start_waiting(), while the connection waits for a link
    TimePoint since{};
  };
  LinkWait link_wait_;
  LaneWait lane_wait_{*this};

  // While limits.max_buffered is exceeded: the most bytes that one read takes, and the most bytes
  // that wait for the rest of a message's head.
  static constexpr size_t kInputBytesOverLimit = 4096;
  size_t counted_input_ = 0;  // the part of input_bytes() that counts towards limits.max_buffered
  UnitReader reader_;
  ByteQueue backlog_;        // bytes that were read from the client, but not given to reader_
  Call* current_ = nullptr;  // the call whose request is arriving
  KeptRequest request_;      // of the only unanswered call
  // Set while the rest of a request is dropped, because its call has failed, or because its reply
  // has ended before the request. Later calls of the same Thrift frame fail with this value.
  std::optional<engine::Failure> discarding_;

  CallQueue calls_;
  OutboundStream stream_;
  BufferedWriter out_;    // writes the answers to the client
  size_t ungranted_ = 0;  // bytes in out_ that did not arrive on this stream, so cost no credit
  // For status().
  struct Totals {
    TimePoint began{};
    uint64_t calls = 0;
    uint64_t bytes_in = 0;
    uint64_t bytes_out = 0;  // with those in out_
  };
  Totals totals_;
  std::unique_ptr<ByteStream> client_;
};

}  // namespace hat
