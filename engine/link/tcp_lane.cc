// SPDX-License-Identifier: Apache-2.0
#include "engine/link/tcp_lane.h"

#include <cassert>
#include <cstring>

namespace hat::engine {
namespace {

// The number of parts in which the lane handles the bytes of one read. Between two parts, the event
// loop handles the other connections and sends queued frames. If the lane handled all bytes at
// once, a burst of calls would move from host to host as a whole, and each host would be idle while
// another host works on the burst.
constexpr size_t kPartsPerRead = 2;

constexpr const char* kPeerSpeaksTls =
    "the peer speaks TLS, and this node's link does not: give both nodes `link.tls`, or neither";

}  // namespace

TcpLane::TcpLane(Reactor& reactor, const OpenStream& open, LaneEvents& events)
    : reactor_(reactor), events_(events), last_received_(reactor.now()), stream_(open(*this)) {
  stream_->want_read(true);
}

uint64_t TcpLane::send(FrameHeader header, std::initializer_list<Bytes> pieces) {
  const uint64_t number = written_ + out_.size();
  if (down_ || write_error_ != 0) return number;
  header.payload_bytes = 0;
  for (const Bytes piece : pieces) header.payload_bytes += static_cast<uint32_t>(piece.size());
  assert(invalid(header) == nullptr);
  out_.append(std::as_bytes(std::span(&header, 1)));
  for (const Bytes piece : pieces) out_.append(piece);
  if (out_.size() >= kCongestedBytes) congested_ = true;
  return number;
}

void TcpLane::flush() {
  if (!down_ && write_error_ == 0) wrote(out_.flush(*stream_));
}

void TcpLane::wrote(const BufferedWriter::Written& written) {
  written_ += written.bytes;
  if (written.error != 0) return on_write_error(written.error);
  if (out_.size() > kQueuedBytesMax)
    return go_down("the peer does not read the data that this daemon sends");
  if (congested_ && out_.size() <= kCongestedBytes / 2) {
    congested_ = false;
    turns().serve();
    // Sends the new frames in a later iteration, so that this lane does not hold up the others.
    if (!out_.empty()) out_.await_writable(*stream_);
  }
}

void TcpLane::end_writes() {
  if (!down_ && write_error_ == 0) stream_->shutdown_write();
}

// Stops sending because of `error`, but keeps reading to the end of the stream, because the peer
// may have sent replies before it closed the connection.
void TcpLane::on_write_error(int error) {
  write_error_ = error;
  congested_ = true;  // stays true until the lane is down
  out_.discard(*stream_);
  stream_->read_again();
}

void TcpLane::on_writable() {
  if (!down_ && write_error_ == 0) wrote(out_.on_writable(*stream_));
}

void TcpLane::on_readable() {
  if (!holds_frame()) {
    const IoResult result = stream_->read({in_.get() + in_end_, in_bytes_ - in_end_});
    switch (result.kind) {
      case IoResult::Kind::kWouldBlock:
        if (write_error_ != 0) go_down(stream_->error_text(write_error_));
        return;
      case IoResult::Kind::kEnd:
        return go_down(begins_with_tls() ? kPeerSpeaksTls : "the peer closed the link");
      case IoResult::Kind::kError:
        return go_down(begins_with_tls() ? kPeerSpeaksTls : stream_->error_text(result.error));
      case IoResult::Kind::kOk:
        break;
    }
    last_received_ = reactor_.now();
    in_end_ += result.bytes;
    part_bytes_ = (in_end_ - in_begin_) / kPartsPerRead;
  }
  take_part();
  if (write_error_ != 0 && !down_) stream_->read_again();
}

// Returns true if the lane has not yet received a whole frame, and the received bytes begin like a
// TLS handshake or a TLS alert.
bool TcpLane::begins_with_tls() const {
  constexpr auto kAlert = std::byte{0x15};
  constexpr auto kHandshake = std::byte{0x16};
  constexpr auto kMajorVersion = std::byte{3};
  const bool first = in_bytes_ == kFirstBytes && in_begin_ == 0 && in_end_ >= 2;
  return first && (in_[0] == kAlert || in_[0] == kHandshake) && in_[1] == kMajorVersion;
}

bool TcpLane::holds_frame() const {
  FrameHeader header;
  if (in_end_ - in_begin_ < sizeof header) return false;
  std::memcpy(&header, in_.get() + in_begin_, sizeof header);
  return invalid(header) != nullptr || in_end_ - in_begin_ >= sizeof header + header.payload_bytes;
}

void TcpLane::take_part() {
  FrameHeader header;
  const size_t part_end = in_begin_ + part_bytes_;
  for (bool more = true; more && in_end_ - in_begin_ >= sizeof header;) {
    std::memcpy(&header, in_.get() + in_begin_, sizeof header);
    if (const char* reason = invalid(header)) {
      if (begins_with_tls()) return go_down(kPeerSpeaksTls);
      return go_down(std::string("the peer sent a bad frame: ") + reason);
    }
    if (in_end_ - in_begin_ < sizeof header + header.payload_bytes) break;
    const Bytes payload{in_.get() + in_begin_ + sizeof header, header.payload_bytes};
    in_begin_ += sizeof header + header.payload_bytes;
    events_.on_frame(header, payload);
    if (down_) return;
    more = in_begin_ < part_end;
  }
  if (holds_frame()) return stream_->read_again();
  keep_unread();
  if (in_end_ == in_bytes_) go_down("the peer's first frame is not a hello");
}

// Moves the bytes of an incomplete frame to the beginning of the receive buffer. A peer that has
// sent a valid frame is a daemon, and gets the large buffer.
void TcpLane::keep_unread() {
  const std::byte* unread = in_.get() + in_begin_;
  in_end_ -= in_begin_;
  if (in_begin_ == 0 || in_bytes_ == kReceiveBytes) {
    std::memmove(in_.get(), unread, in_end_);
  } else {
    auto large = std::make_unique_for_overwrite<std::byte[]>(kReceiveBytes);
    std::memcpy(large.get(), unread, in_end_);
    in_ = std::move(large);
    in_bytes_ = kReceiveBytes;
  }
  in_begin_ = 0;
}

void TcpLane::go_down(const std::string& reason) {
  if (down_) return;
  down_ = true;
  stream_->want_read(false);
  out_.discard(*stream_);
  events_.on_down(reason);
}

}  // namespace hat::engine
