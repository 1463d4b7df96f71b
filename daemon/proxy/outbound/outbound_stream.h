// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/outbound_stream.h: the stream of one client connection to a peer daemon,
// and the state of the peer's connection to the server for this stream.
//
// An OutboundStream lives as long as its client connection. It has one stream after another,
// because a stream ends when its link breaks or its peer shuts down, and because a client without
// server of its own can use another peer for each call. Between two streams exists() returns false;
// the caller must then call only open(), forget(), peers() and the functions about the connection
// to the server.
//
// Bounds   At most send_credit() bytes of the client can be sent to the peer. The bytes of the
//          server that are on their way to this daemon are limited by engine::ReceiveWindow.
// Thread   the worker's.
// Always   server() is kAny or kDetached if no stream exists.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/reactor.h"
#include "daemon/proxy/call.h"
#include "daemon/proxy/configured.h"
#include "daemon/proxy/deadlines.h"
#include "daemon/proxy/landings.h"
#include "daemon/proxy/outbound/peer_link.h"
#include "daemon/proxy/outbound/sent_frames.h"
#include "daemon/proxy/outbound/stream_state.h"
#include "daemon/proxy/successor.h"
#include "daemon/proxy/unit_reader.h"
#include "daemon/proxy/zero_copy.h"
#include "engine/frame.h"

namespace hat {

class Worker;

class OutboundStream {
 public:
  // The state of the peer's connection to the server for this stream. In every state but kAny, only
  // this client uses the connection to the server, and the client's connection ends when the
  // connection to the server ends.
  //   kAny ──▶ kBound ──▶ kDetaching ──▶ kDetached ──▶ kBound (on the next stream)
  //     │         └────────────┴──▶ kPinned   ▲
  //     └─────────────────────────────────────┘ after a takeover from the predecessor
  // Every state changes to kAny when the stream is lost. kDetached changes to kAny when the peer
  // cannot be reached.
  enum class Server : uint8_t {
    kAny,        // no stream exists, or calls of this client can use any connection to the server
    kBound,      // only this client uses the connection to the server, which can move
    kDetaching,  // a kDetach frame was sent; no call begins before the answer
    kDetached,   // no stream exists; the peer keeps the connection to the server under a token
    kPinned,     // the connection to the server cannot move, so the stream stays on its link
  };

  // Makes an object without a stream. The lanes queue `turn` while the stream waits for a lane.
  OutboundStream(Worker& worker, ClientConnection& owner, engine::SendTurns::Member& turn);
  ~OutboundStream() { change_to(Server::kAny); }
  OutboundStream(const OutboundStream&) = delete;
  OutboundStream& operator=(const OutboundStream&) = delete;

  bool exists() const { return state_.entry != nullptr; }
  const std::string& peer() const { return peer_->link().peer(); }
  // Returns the peer of the newest stream, which may have ended; empty before the first one.
  const std::string& last_peer() const { return newest_.peer; }
  // Returns the speed of this peer; null if the endpoint no longer has the peer.
  PeerSpeed* speed() const { return newest_.speed.get(); }
  // Returns true if a frame of the stream was sent, so that the peer knows of the stream.
  bool opened() const { return opened_; }
  // Returns true if the stream exists, but its link cannot carry new calls.
  bool link_leaves() const { return exists() && !peer_->link().takes_calls(); }

  // Begins a stream on the link `peer`. With kMayBeUsed, this can be an idle stream, which carried
  // calls of this or another client. The kOpen frame, which announces a new stream to the peer, is
  // sent together with the stream's first other frame. In the state kDetached, sends a kAttach
  // frame at once, so that the stream gets the connection to the server that the peer keeps.
  enum class Origin : uint8_t { kNew, kMayBeUsed };
  void open(PeerLink& peer, Origin origin);
  // Gives the stream up between two calls: leaves it to the link as an idle stream, or ends it if
  // an event of it can still come or the link has enough of them.
  void leave_idle();
  // Ends the stream. If the peer knows of the stream, sends the frame `last`: kEnd or kReset.
  void leave(engine::FrameKind last);
  // Drops the stream, because its link, its lane or the peer has ended the stream.
  void forget();

  // --- The lane ---
  PeerLink& link() { return *peer_; }
  const PeerLink& link() const { return *peer_; }
  // Returns the lane that a call which wants a lane of kind `key` must use at present. Begins to
  // open the wanted lane if it does not exist.
  PeerLanes::Choice choose(const WantedLane& lane);
  uint32_t lane_number() const { return state_.lane; }  // 0: the link's TCP connection
  // Returns true if the peer may use this lane for the stream: it does so until it has taken a
  // frame from another lane.
  bool may_use(uint32_t lane) const { return lane == state_.lane || lane == lane_before_; }
  // Sends later frames on the lane with this number. Call it only while all_taken() returns true,
  // because a frame on the new lane could overtake a frame on the old lane.
  void use_lane(uint32_t number);
  // Returns true if the peer has taken all frames that were sent on the stream.
  bool all_taken() const { return !opened_ || state_.delivery.all_taken(); }
  // Sends a kSync frame, unless one is unanswered. The answer shows that the peer has taken all
  // earlier frames.
  void ask_whether_taken();

  // --- After the loss of the lane (docs/link.md, "A stream that resumes") ---
  // How long the stream waits for the peer's answer to a kResume frame.
  static constexpr Duration kResumeWait = std::chrono::milliseconds(500);
  // Continues on the link's TCP connection, because the stream's RDMA lane is lost, and asks the
  // peer whether frames were lost (frame kResume). If the peer does not answer within kResumeWait,
  // calls ClientConnection::give_up_stream(). The peer must know of the stream.
  void ask_to_resume();
  // Returns true while the stream waits for this answer. The caller sends no requests then.
  bool is_suspended() const { return resume_wait_.set(); }
  // Handles the answer that the stream continues. `payload` is the number of frames that the peer
  // has received from RDMA lanes. Sends later frames again, in order. Returns the number of the
  // first call of which all is sent again, or 0 if there is none. Returns nothing if the frames are
  // not kept or `payload` is malformed; the caller must then give up the stream. Call it only while
  // is_suspended() returns true.
  std::optional<uint64_t> on_resumed(Bytes payload);

  // --- Sending ---
  // Returns the number for a call that begins now.
  uint64_t next_ordinal() { return state_.next_ordinal++; }
  // Sets how many calls of the client are not answered. Does nothing if no stream exists.
  void set_unanswered(size_t calls) {
    if (!exists()) return;
    peer_->count_unanswered(unanswered_, calls);
    unanswered_ = calls;
  }
  // Returns how many bytes of the client the peer is ready to take; can be negative.
  int64_t send_credit() const { return state_.send_credit; }
  // Returns how many bytes the lane takes from the stream now. If the result is 0, the lane calls
  // the owner's on_turn() when it takes bytes again. The lane of a stream that does not exist, or
  // whose link is down, takes any number of bytes.
  size_t lane_budget() {
    return exists() && link_up() ? lane_->turns().budget(turn_) : engine::SendTurns::kUnlimited;
  }
  // Sends the next piece of a request. `last` is true if the request ends with `piece`. `call` is
  // null for an empty Thrift frame. If bulk() offers the piece, and the lane can send without a
  // copy, the lane sends from the memory of `from`.
  void send_piece(Call* call, ByteStream& from, Bytes piece, bool last);
  // Sends bytes of an opaque stream.
  void send_raw(Bytes bytes);
  // Sends a frame without payload. Does nothing if the peer does not know of the stream, or if the
  // link is down.
  void send_control(engine::FrameKind kind, uint64_t call = 0);
  BulkSender& bulk() { return bulk_; }
  // Forgets the client's byte stream, because it ends.
  void end_bulk() {
    bulk_.end();
    receiver_.end();
  }

  // --- Receiving ---
  // Records that a frame has arrived from the lane with this number.
  void note_frame(const engine::FrameHeader& header, uint32_t lane) {
    state_.note_frame(header, lane);
  }
  // Returns space in `client` for the payload of a frame that the lane of `asker` is about to READ,
  // or no space.
  engine::Landing landing(ByteStream& client, const LandingAsker& asker, size_t bytes) {
    return state_.lane == asker.lane ? receiver_.landing(client, asker, bytes) : engine::Landing();
  }
  // Counts `bytes` bytes that arrived. Returns false if the peer has exceeded its credit.
  bool take(size_t bytes) { return state_.window.take(bytes); }
  // Counts `bytes` bytes that were passed on to the client, and grants credit to the peer for them.
  void grant(size_t bytes);
  // Sets how many of the bytes that were passed on get no credit for now, because the client has
  // not read them (ReceiveWindow::withhold()). The next grant() considers this.
  void withhold(size_t bytes) { state_.window.withhold(bytes); }
  bool withholds_much() const { return state_.window.withholds_much(); }
  // Records that the peer has answered `call`.
  void on_answered(const Call& call) {
    state_.delivery.answered(call.ordinal);
    sent_frames_.answered(call.ordinal);
    forget_lane_before();
  }
  // Records that the peer has answered the kSync frame with this number.
  void on_synced(uint64_t number) {
    state_.delivery.synced(number);
    sent_frames_.synced(number);
    forget_lane_before();
  }

  // --- The connection to the server ---
  Server server() const { return server_; }
  bool is_bound() const { return server_ != Server::kAny; }
  // Records that a call without a reply was sent. It can wait at the peer after later calls have
  // failed there.
  void note_oneway() {
    has_reply_ = false;
    may_have_waiting_call_ = true;
    if (exists() && sent_frames_.needs_sync()) ask_whether_taken();
  }
  // Records that the server has replied to the call with this number. If it is the last one, no
  // earlier call waits at the peer, because the peer's answers keep their order.
  void note_reply(uint64_t ordinal) {
    if (ordinal + 1 != state_.next_ordinal) return;
    has_reply_ = true;
    may_have_waiting_call_ = false;
  }
  // Returns true if a call can go to another peer after it has failed: the client has no connection
  // to the server of its own, of which the peer would have sent a kBound frame, and no earlier call
  // can still wait at the peer.
  bool may_leave() const { return !is_bound() && peer_knows_bound_ && !may_have_waiting_call_; }
  // Returns true if the server keeps no state for this client and has all of its calls: the server
  // has replied, and before the reply the peer would have said that the stream has a connection to
  // the server of its own.
  bool shares_server() const {
    return has_reply_ && !is_bound() && link_up() &&
           engine::knows_bound(peer_->link().session().peer());
  }
  bool moves() const { return server_ == Server::kDetaching || server_ == Server::kDetached; }
  const KeptServer& kept() const { return kept_; }  // valid in the state kDetached
  // Returns the names of the peers to which the next stream can lead.
  std::span<const std::string> peers() const;
  // Handles a kBound frame: from now on only this client uses the connection to the server. Does
  // nothing if no frame of the stream was sent.
  void on_bound();
  // Begins to move the connection to the server to another stream: sends a kDetach frame. Does
  // nothing if too many moves are running. If the peer's link version has no moves, calls pin()
  // instead.
  void detach();
  // Handles the peer's answer to the kDetach frame, which has ended the stream. `token` names the
  // connection to the server that the peer keeps. Returns false if `token` is malformed.
  bool on_detached(Bytes token);
  // Continues with the connection to the server that `kept` names. The predecessor, the earlier
  // hatrpcd of this node, has detached this connection, and a peer keeps it.
  void continue_with(const KeptServer& kept);
  // Records that the connection to the server cannot move.
  void pin() { change_to(Server::kPinned); }
  // Records that the connection to the server is lost.
  void lose_server() { change_to(Server::kAny); }

 private:
  // Set while the stream waits for the answer to a kResume frame.
  struct ResumeWait final : Deadline {
    explicit ResumeWait(ClientConnection& its_owner) : owner(its_owner) {}
    void on_deadline() override;
    ClientConnection& owner;
  };

  uint32_t id() const { return state_.entry->first; }
  bool can_be_idle() const;
  bool link_up() const { return peer_->link().up(); }
  void send(const engine::FrameHeader& header, std::initializer_list<Bytes> pieces) {
    if (rdma_ != nullptr) note_sent(header, pieces);
    lane_->send(header, pieces);
  }
  void note_sent(const engine::FrameHeader& header, std::initializer_list<Bytes> pieces);
  void change_to(Server next);
  void forget_lane_before() {
    if (state_.delivery.all_taken()) lane_before_ = 0;
  }
  void attach();
  void send_open();
  void send_call(Call* call, engine::FrameHeader header, Bytes part);
  void note_piece(Call& call, engine::FrameHeader header, size_t bytes);
  bool send_in_place(ByteStream& from, const engine::FrameHeader& header, Bytes part);
  void drop();
  void reset_members();
  void spend(size_t bytes);

  Worker& worker_;
  ClientConnection& owner_;
  engine::SendTurns::Member& turn_;
  PeerLink* peer_ = nullptr;
  // The peer of the newest stream.
  struct {
    std::string peer;
    std::shared_ptr<PeerSpeed> speed;
  } newest_;
  StreamState state_;
  // The lane that the peer uses for the stream, while the peer has taken no frame from the stream's
  // own lane; otherwise 0.
  uint32_t lane_before_ = 0;
  engine::Lane* lane_ = nullptr;
  engine::RdmaLane* rdma_ = nullptr;  // equal to lane_ if lane_ is an RDMA lane, or else null
  SentFrames sent_frames_;
  ResumeWait resume_wait_;
  bool opened_ = false;
  bool has_reply_ = false;  // the server has replied to the last call of this stream
  // A oneway call, or a call that was cancelled, can still wait at the peer.
  bool may_have_waiting_call_ = false;
  bool peer_knows_bound_ = false;  // the peer's link version has the kBound frame
  size_t unanswered_ = 0;          // calls that count at the link
  BulkSender bulk_;
  BulkReceiver receiver_;
  Server server_ = Server::kAny;
  KeptServer kept_;
};

}  // namespace hat
