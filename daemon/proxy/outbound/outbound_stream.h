// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/outbound_stream.h: the stream of one client connection to a peer daemon,
// and what this daemon knows of the server's connection at its far end.
//
// An object lasts as long as the client connection, and has one stream after another: a stream ends
// with its link, or when its link leaves. While there is none, exists() is false, and only open(),
// forget(), peers() and the functions on the server's connection may be called.
//
// Bounds   the application's bytes on their way to the peer: send_credit(), one window at most. The
//          server's bytes on their way here: engine::ReceiveWindow.
// Thread   the worker's.
// Always   server() is kAny or kDetached if no stream exists.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/reactor.h"
#include "daemon/proxy/call.h"
#include "daemon/proxy/outbound/peer_link.h"
#include "daemon/proxy/stream_delivery.h"
#include "daemon/proxy/successor.h"
#include "daemon/proxy/unit_reader.h"
#include "daemon/proxy/zero_copy.h"
#include "engine/frame.h"
#include "engine/receive_window.h"

namespace hat {

class Worker;

class OutboundStream {
 public:
  // The connection to the server at the stream's far end. In every state but kAny that connection
  // belongs to this application alone, and the application's connection ends with it.
  //   kAny ──▶ kBound ──▶ kDetaching ──▶ kDetached ──▶ kBound (on the next stream)
  //     │         └────────────┴──▶ kPinned   ▲
  //     └─────────────────────────────────────┘ another process had the application's connection
  // Every state becomes kAny when the stream is lost; kDetached does when the peer that keeps the
  // server's connection cannot be reached.
  enum class Server : uint8_t {
    kAny,        // no stream exists, or any other server connection would do as well
    kBound,      // it may move to another stream
    kDetaching,  // kDetach was sent; no call begins before its answer
    kDetached,   // no stream exists; the peer keeps the connection under the token in kept()
    kPinned,     // it cannot move, so the stream stays even on a link that leaves
  };

  OutboundStream(Worker& worker, ClientConnection& owner, size_t endpoint);
  ~OutboundStream() { change_to(Server::kAny); }
  OutboundStream(const OutboundStream&) = delete;
  OutboundStream& operator=(const OutboundStream&) = delete;

  bool exists() const { return id_ != 0; }
  const std::string& peer() const { return peer_->link().peer(); }
  // Returns true if the peer knows of the stream: a frame of it was sent.
  bool opened() const { return opened_; }
  // Returns true if the stream exists and no call may begin on its link.
  bool link_leaves() const { return exists() && !peer_->link().takes_calls(); }
  // Returns true if the stream exists and its lane has more frames queued than it should.
  bool congested() const { return exists() && link_up() && lane_->congested(); }

  // Begins a stream on the peer's link. The peer learns of it with its first frame, on the lane
  // that this frame uses. If the peer keeps the server's connection, attaches that to the stream.
  void open(PeerLink& peer);
  // Ends the stream. If the peer knows of the stream, sends the frame `last` on it: kEnd or kReset.
  void leave(engine::FrameKind last);
  // Drops the stream, which has ended already: its link, its lane or the peer has ended it.
  void forget();

  // --- The lane ---
  // Chooses a lane for a call that wants `key`, in the state of this moment.
  PeerLanes::Choice choose(const LaneKey& key) { return peer_->choose(key, endpoint_); }
  uint32_t lane_number() const { return lane_number_; }  // 0: the link's TCP connection
  // Sends what follows on the lane with this number. Everything that was sent must have been taken,
  // or nothing was sent yet; otherwise frames might overtake others.
  void use_lane(uint32_t number);
  // Returns true if the peer has taken everything that was sent on the stream.
  bool all_taken() const { return !opened_ || delivery_.all_taken(); }
  // Sends kSync, whose answer shows whether everything was taken, unless one is on its way.
  void ask_whether_taken();

  // --- Sending ---
  // Returns the number for a call that begins now.
  uint64_t next_ordinal() { return next_ordinal_++; }
  // Returns how many bytes of the application the peer is ready to take; may be negative.
  int64_t send_credit() const { return send_credit_; }
  // Sends the next piece of a unit; `call` is null for an empty frame, which has no call. A piece
  // that `bulk()` offers is sent from the memory of `from`, if the lane can do that.
  void send_piece(Call* call, ByteStream& from, Bytes piece, bool last);
  void send_raw(Bytes bytes);
  // Sends a frame without payload, if the peer knows of the stream and its link is up.
  void send_control(engine::FrameKind kind, uint64_t call = 0);
  BulkSender& bulk() { return bulk_; }

  // --- Receiving ---
  void add_credit(uint32_t bytes) { send_credit_ += bytes; }
  // Counts bytes that arrived. Returns false if the peer has exceeded its credit.
  bool take(size_t bytes) { return window_.take(bytes); }
  // Counts bytes that were passed on to the application, and grants credit for them.
  void grant(size_t bytes);
  // Records that the peer has answered `call`, or has answered the kSync with that number.
  void on_answered(const Call& call) { delivery_.answered(call.ordinal); }
  void on_synced(uint64_t number) { delivery_.synced(number); }

  // --- The connection to the server ---
  Server server() const { return server_; }
  bool is_bound() const { return server_ != Server::kAny; }
  bool moves() const { return server_ == Server::kDetaching || server_ == Server::kDetached; }
  const KeptServer& kept() const { return kept_; }  // in kDetached
  // Returns the peers to which the next stream may lead.
  std::span<const std::string> peers() const;
  // Handles kBound: the server's connection is this application's alone. Does nothing if the peer
  // cannot know of the stream yet.
  void on_bound();
  // Begins a move by sending kDetach, if the peer can do that and not too many moves are running.
  void detach();
  // Records the peer's answer to kDetach, which is the token of the server's connection. The stream
  // has ended. Returns false if the token is malformed.
  bool on_detached(Bytes token);
  // Continues with a server connection that a peer keeps since another process detached it.
  void continue_with(const KeptServer& kept);
  // Records that the server's connection cannot move.
  void pin() { change_to(Server::kPinned); }
  // Records that the server's connection is lost.
  void lose_server() { change_to(Server::kAny); }

 private:
  bool link_up() const { return peer_->link().up(); }
  void change_to(Server next);
  void attach();
  void send_open();
  void send_call(Call* call, engine::FrameHeader header, Bytes part);
  bool send_in_place(ByteStream& from, const engine::FrameHeader& header, Bytes part);
  void drop();

  Worker& worker_;
  ClientConnection& owner_;
  const size_t endpoint_;
  PeerLink* peer_ = nullptr;
  uint32_t id_ = 0;           // 0: no stream
  uint32_t lane_number_ = 0;  // 0: the link's TCP connection
  engine::Lane* lane_ = nullptr;
  engine::RdmaLane* rdma_ = nullptr;  // lane_, if that is an RDMA lane
  bool opened_ = false;
  StreamDelivery delivery_;
  uint64_t next_ordinal_ = 1;
  int64_t send_credit_ = engine::kStreamWindowBytes;
  engine::ReceiveWindow window_;
  BulkSender bulk_;
  Server server_ = Server::kAny;
  KeptServer kept_;
};

}  // namespace hat
