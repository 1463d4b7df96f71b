// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/outbound_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/transitions.h"
#include "daemon/proxy/outbound/client_connection.h"
#include "daemon/proxy/worker.h"

namespace hat {

using engine::FrameHeader;
using engine::FrameKind;

namespace {

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// Returns true if the digits of the caller's span id are in `part`, the first bytes of the request
// of `call`, and this daemon must send its own in their place.
bool has_parent_id(const CallTrace& trace, Bytes part) {
  return trace.is_recorded && trace.parent_id_at != 0 &&
         trace.parent_id_at + trace.span_id.size() <= part.size();
}

using Server = OutboundStream::Server;
constexpr Transition<Server> kTransitions[] = {
    {Server::kAny, Server::kAny},          {Server::kAny, Server::kBound},
    {Server::kAny, Server::kDetached},     {Server::kBound, Server::kAny},
    {Server::kBound, Server::kDetaching},  {Server::kBound, Server::kPinned},
    {Server::kDetaching, Server::kAny},    {Server::kDetaching, Server::kDetached},
    {Server::kDetaching, Server::kPinned}, {Server::kDetached, Server::kAny},
    {Server::kDetached, Server::kBound},   {Server::kPinned, Server::kAny},
    {Server::kPinned, Server::kPinned},
};

}  // namespace

OutboundStream::OutboundStream(Worker& worker, ClientConnection& owner,
                               engine::SendTurns::Member& turn)
    : worker_(worker),
      owner_(owner),
      turn_(turn),
      sent_frames_(worker),
      resume_wait_(owner),
      bulk_(worker.counters().rdma.zero_copy_bytes) {}

void OutboundStream::open(PeerLink& peer, Origin origin) {
  DCHECK(!exists() && !opened_);
  peer_ = &peer;
  newest_.peer = peer.link().peer();
  peer_knows_bound_ = engine::knows_bound(peer.link().session().peer());
  if (origin == Origin::kMayBeUsed && server_ != Server::kDetached) {
    if (auto idle = peer.take_idle_stream(owner_)) {
      state_ = idle->state;
      newest_.speed = std::move(idle->speed);
      use_lane(state_.lane);
      opened_ = has_reply_ = true;
      return;
    }
  }
  newest_.speed = owner_.endpoint().speeds.find(newest_.peer);
  state_.entry = &peer.open_stream(owner_);
  use_lane(0);
  if (server_ == Server::kDetached) attach();
}

PeerLanes::Choice OutboundStream::choose(const WantedLane& lane) {
  return peer_->choose(lane, owner_.endpoint().number);
}

void OutboundStream::leave(FrameKind last) {
  if (!exists()) return;
  if (opened_ && link_up()) peer_->end_stream(id(), state_.lane, last);
  forget();
}

void OutboundStream::forget() {
  drop();
  change_to(Server::kAny);
}

// Returns true if nothing of the stream but its state is needed for later calls of other clients.
bool OutboundStream::can_be_idle() const {
  return shares_server() && !may_have_waiting_call_ && all_taken() && lane_before_ == 0 &&
         sent_frames_.count() == 0 && !is_suspended() && peer_->has_space_for_idle_stream() &&
         owner_.endpoint().is_current;
}

void OutboundStream::leave_idle() {
  if (!can_be_idle()) return leave(FrameKind::kEnd);
  state_.window.withhold(0);  // it was for this client's ring
  set_unanswered(0);
  peer_->keep_idle_stream({state_, newest_.speed, &owner_.endpoint()});
  reset_members();
}

void OutboundStream::drop() {
  set_unanswered(0);
  if (exists()) peer_->forget_stream(id());
  reset_members();
}

void OutboundStream::reset_members() {
  turn_.stop_waiting_for_turn();
  peer_ = nullptr;
  state_ = {};
  lane_before_ = 0;
  lane_ = nullptr;
  rdma_ = nullptr;
  sent_frames_.clear();
  resume_wait_.end();
  opened_ = has_reply_ = may_have_waiting_call_ = peer_knows_bound_ = false;
}

// --- The lane ---

void OutboundStream::use_lane(uint32_t number) {
  DCHECK(exists());
  DCHECK(number == state_.lane || all_taken()) << "frames would overtake others";
  if (lane_ != nullptr && number == state_.lane) return;
  turn_.stop_waiting_for_turn();
  if (opened_ && lane_before_ == 0) lane_before_ = state_.lane;
  state_.lane = number;
  rdma_ = number == 0 ? nullptr : &peer_->lanes()->rdma(number);
  lane_ = number == 0 ? &peer_->link().lane() : rdma_;
}

void OutboundStream::ask_whether_taken() {
  if (const uint64_t number = state_.delivery.ask()) send_control(FrameKind::kSync, number);
}

// --- After the loss of the lane ---

void OutboundStream::ask_to_resume() {
  DCHECK(opened_ && link_up() && rdma_ != nullptr);
  turn_.stop_waiting_for_turn();
  state_.lane = 0;
  lane_ = &peer_->link().lane();
  rdma_ = nullptr;
  const engine::ResumeMeta meta{state_.counts, sent_frames_.count()};
  send({.kind = FrameKind::kResume, .stream = id()}, {std::as_bytes(std::span(&meta, 1))});
  worker_.deadlines().set(resume_wait_, kResumeWait);
}

std::optional<uint64_t> OutboundStream::on_resumed(Bytes payload) {
  DCHECK(is_suspended());
  uint64_t received = 0;
  if (payload.size() != sizeof received) return std::nullopt;
  std::memcpy(&received, payload.data(), sizeof received);
  if (received > state_.counts.sent || state_.counts.sent - received > sent_frames_.count()) {
    return std::nullopt;
  }
  resume_wait_.end();
  lane_before_ = 0;  // the peer uses the TCP connection, too
  uint64_t first_call = 0;
  const auto send_again = [&](const FrameHeader& header, Bytes part, Bytes rest) {
    if (header.kind == FrameKind::kCall && first_call == 0) first_call = header.call;
    lane_->send(header, {part, rest});
  };
  sent_frames_.send_again(state_.counts.sent - received, send_again);
  state_.counts.sent = received;
  return first_call;
}

void OutboundStream::ResumeWait::on_deadline() {
  owner.give_up_stream("the peer did not answer in time whether frames were lost with it");
}

// --- Sending ---

void OutboundStream::send_control(FrameKind kind, uint64_t call) {
  if (!opened_ || !link_up()) return;
  send({.kind = kind, .stream = id(), .call = call}, {});
  // A call must not begin after its end, and a frame that was lost not after a later one.
  if (kind == FrameKind::kCancel || is_suspended()) sent_frames_.clear();
  if (kind != FrameKind::kCancel) return;
  state_.delivery.send_unanswered();
  may_have_waiting_call_ = true;
}

void OutboundStream::send_open() {
  if (std::exchange(opened_, true)) return;
  send({.kind = FrameKind::kOpen, .stream = id()}, {bytes_of(owner_.endpoint().config.service)});
}

void OutboundStream::send_piece(Call* call, ByteStream& from, Bytes piece, bool last) {
  // `call` is null for an empty Thrift frame, whose bytes are sent as a kCall frame without a name.
  const bool begins = call == nullptr || !call->sent;
  FrameHeader header{.kind = begins ? FrameKind::kCall : FrameKind::kMore,
                     .stream = id(),
                     .call = call == nullptr ? next_ordinal() : call->ordinal};
  if (call != nullptr && begins && knows_pollings(peer_->link().session().peer())) {
    header.flags = engine::polling_flags(call->polling.server);
  }
  send_open();
  state_.delivery.send(header.call);
  do {  // several frames if the piece, which can have bytes held back, exceeds kPieceBytesMax
    const Bytes part = piece.first(std::min<size_t>(piece.size(), engine::kPieceBytesMax));
    piece = piece.subspan(part.size());
    if (last && piece.empty()) {
      header.flags |= engine::kLastPiece;
      header.replies = call == nullptr ? 0 : call->replies;
      if (call != nullptr && call->several && knows_ids(peer_->link().session().peer())) {
        header.flags |= engine::kSeveral;
      }
    }
    header.credit = state_.window.grant();
    spend(part.size());
    if (header.kind == FrameKind::kCall) {
      send_call(call, header, part);
    } else {
      if (call != nullptr) note_piece(*call, header, part.size());
      if (!send_in_place(from, header, part)) send(header, {part});
    }
    header.kind = FrameKind::kMore;
    header.flags = 0;
  } while (!piece.empty());
  if (call == nullptr) return;
  if (begins) {
    call->times.sent = worker_.reactor().now();
    peer_->note_call();
  }
  call->sent = true;
}

// Notes what carries a frame of a request, of `bytes` bytes.
void OutboundStream::note_piece(Call& call, FrameHeader header, size_t bytes) {
  header.payload_bytes = static_cast<uint32_t>(bytes);
  call.pieces.request.add(header.payload_bytes, [&] {
    if (rdma_ == nullptr) return Carrier::kTcp;
    const engine::ProtocolId planned = call.choice.request;
    return carrier_by(rdma_->leg_for(header), planned, engine::protocol(planned).request);
  });
  call.way.request = call.pieces.request.carrier();
}

void OutboundStream::spend(size_t bytes) {
  state_.send_credit -= static_cast<int64_t>(bytes);
  lane_->turns().sent(turn_, sizeof(FrameHeader) + bytes);
}

// Sends the first frame of a call. The frame names the function, and the service if the client's
// message names a service.
void OutboundStream::send_call(Call* call, FrameHeader header, Bytes part) {
  const std::string_view name = call == nullptr ? std::string_view() : call->head.get().name;
  const std::string_view method = thrift::bare_name(name);
  const std::string_view service = thrift::service_prefix(name);
  const engine::CallMeta meta{.name_bytes = static_cast<uint16_t>(method.size()),
                              .service_bytes = static_cast<uint16_t>(service.size()),
                              .id = call == nullptr ? 0 : call->head.get().seqid};
  const size_t meta_bytes = call_meta_bytes(peer_->link().session().peer());
  if (call != nullptr)
    note_piece(*call, header, meta_bytes + method.size() + service.size() + part.size());
  const Bytes meta_part = std::as_bytes(std::span(&meta, 1)).first(meta_bytes);
  if (call == nullptr || !has_parent_id(call->trace, part)) {
    return send(header, {meta_part, bytes_of(method), bytes_of(service), part});
  }
  // The request's own bytes stay as they are: they are the client's, and may be sent again.
  const CallTrace& trace = call->trace;
  send(header, {meta_part, bytes_of(method), bytes_of(service), part.first(trace.parent_id_at),
                std::as_bytes(std::span(trace.span_id)),
                part.subspan(trace.parent_id_at + trace.span_id.size())});
}

bool OutboundStream::send_in_place(ByteStream& from, const FrameHeader& header, Bytes part) {
  if (rdma_ == nullptr) return false;
  const BulkLane to{*rdma_, state_.lane, peer_->link_memory(), peer_->borrowed_ranges()};
  if (!bulk_.send(from, to, header, part)) return false;
  note_sent(header, {part});
  return true;
}

// Counts a frame that is sent on the RDMA lane, and keeps a copy of it. An opaque stream keeps
// none: its frames have no answers, which would make space for later ones.
void OutboundStream::note_sent(const FrameHeader& header, std::initializer_list<Bytes> pieces) {
  ++state_.counts.sent;
  if (header.kind == FrameKind::kRaw) return sent_frames_.clear();
  const bool is_of_call = header.kind == FrameKind::kCall || header.kind == FrameKind::kMore;
  sent_frames_.add(header, pieces, is_of_call ? header.call : state_.next_ordinal);
}

void OutboundStream::send_raw(Bytes bytes) {
  send_open();
  while (!bytes.empty()) {
    const Bytes piece = bytes.first(std::min<size_t>(bytes.size(), engine::kPieceBytesMax));
    bytes = bytes.subspan(piece.size());
    spend(piece.size());
    send({.kind = FrameKind::kRaw, .stream = id(), .credit = state_.window.grant()}, {piece});
  }
}

// --- Receiving ---

void OutboundStream::grant(size_t bytes) {
  state_.window.pass_on(bytes);
  if (!state_.window.worth_a_frame() || !exists() || !link_up()) return;
  // Credit is always sent over the link's TCP connection. On an RDMA lane that fails after the
  // stream has moved to another lane, the credit would be lost.
  peer_->link().lane().send(
      {.kind = FrameKind::kCredit, .stream = id(), .credit = state_.window.grant()}, {});
}

// --- The connection to the server ---

void OutboundStream::change_to(Server next) {
  DCHECK(is_listed(kTransitions, server_, next))
      << static_cast<int>(server_) << " to " << static_cast<int>(next);
  const bool moved = moves();
  server_ = next;
  if (moved && !moves()) worker_.end_move();
}

std::span<const std::string> OutboundStream::peers() const {
  if (server_ == Server::kDetached) return {&kept_.peer, 1};
  return owner_.endpoint().config.peers;
}

void OutboundStream::on_bound() {
  if (opened_ && server_ == Server::kAny) change_to(Server::kBound);
}

void OutboundStream::detach() {
  if (server_ != Server::kBound || !link_up()) return;
  if (peer_->is_retired() || !knows_moves(peer_->link().session().peer())) return pin();
  if (!worker_.begin_move()) return;
  change_to(Server::kDetaching);
  send_control(FrameKind::kDetach);
}

bool OutboundStream::on_detached(Bytes token) {
  KeptServer kept{peer(), {}};
  if (token.size() != kept.token.size()) return false;
  std::ranges::copy(token, kept.token.begin());
  drop();
  kept_ = std::move(kept);
  change_to(Server::kDetached);
  return true;
}

void OutboundStream::continue_with(const KeptServer& kept) {
  DCHECK(!exists());
  worker_.add_move();
  kept_ = kept;
  change_to(Server::kDetached);
}

// Asks the peer (frame kAttach) to use the kept connection to the server for the new stream.
void OutboundStream::attach() {
  send({.kind = FrameKind::kAttach, .stream = id()},
       {kept_.token, bytes_of(owner_.endpoint().config.service)});
  change_to(Server::kBound);
  opened_ = true;
  state_.delivery.send_unanswered();
  ask_whether_taken();
}

}  // namespace hat
