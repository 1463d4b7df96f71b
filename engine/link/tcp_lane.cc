#include "engine/link/tcp_lane.h"

#include <cstring>

namespace hat::engine {
namespace {

// Reads per event: a lane under load must not keep its worker from everyone else.
constexpr int kReadsPerEvent = 4;

}  // namespace

TcpLane::TcpLane(Reactor& reactor, const Open& open, LaneEvents& events)
    : reactor_(reactor),
      events_(events),
      in_(kReceiveBytes),
      last_received_(reactor.now()),
      stream_(open(*this)) {
  stream_->want_read(true);
}

void TcpLane::send(FrameHeader header, std::initializer_list<Bytes> pieces) {
  if (down_) return;
  header.payload_bytes = 0;
  for (const Bytes piece : pieces) header.payload_bytes += static_cast<uint32_t>(piece.size());
  const auto* raw = reinterpret_cast<const std::byte*>(&header);
  out_.insert(out_.end(), raw, raw + sizeof header);
  for (const Bytes piece : pieces) out_.insert(out_.end(), piece.begin(), piece.end());
  if (queued() >= kCongestedBytes) congested_ = true;
}

void TcpLane::flush() {
  if (down_) return;
  while (queued() != 0 && !write_blocked_) {
    const iovec rest{out_.data() + out_sent_, queued()};
    const IoResult result = stream_->write({&rest, 1});
    if (result.kind == IoResult::Kind::kError) return go_down(std::strerror(result.error));
    if (result.kind != IoResult::Kind::kOk) {
      write_blocked_ = true;
      stream_->want_write(true);
      break;
    }
    out_sent_ += result.bytes;
  }
  if (queued() > kQueuedBytesMax) return go_down("the peer does not read what it is sent");
  if (queued() == 0) {
    out_.clear();
    out_sent_ = 0;
  } else if (out_sent_ >= kCongestedBytes) {
    out_.erase(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(out_sent_));
    out_sent_ = 0;
  }
  if (congested_ && queued() <= kCongestedBytes / 2) {
    congested_ = false;
    events_.on_uncongested();
    flush();  // what the event sent must not wait for another turn
  }
}

void TcpLane::on_writable() {
  write_blocked_ = false;
  stream_->want_write(false);
  flush();
}

void TcpLane::on_readable() {
  for (int i = 0; i < kReadsPerEvent && !down_; ++i) {
    const std::span<std::byte> room{in_.data() + in_end_, in_.size() - in_end_};
    const IoResult result = stream_->read(room);
    switch (result.kind) {
      case IoResult::Kind::kWouldBlock:
        return;
      case IoResult::Kind::kEnd:
        return go_down("the peer closed the link");
      case IoResult::Kind::kError:
        return go_down(std::strerror(result.error));
      case IoResult::Kind::kOk:
        break;
    }
    last_received_ = reactor_.now();
    in_end_ += result.bytes;
    if (!take_frames() || result.bytes < room.size()) return;
  }
}

bool TcpLane::take_frames() {
  FrameHeader header;
  while (in_end_ - in_begin_ >= sizeof header) {
    std::memcpy(&header, in_.data() + in_begin_, sizeof header);
    if (const char* reason = invalid(header)) {
      go_down(std::string("the peer sent a bad frame: ") + reason);
      return false;
    }
    if (in_end_ - in_begin_ < sizeof header + header.payload_bytes) break;
    const Bytes payload{in_.data() + in_begin_ + sizeof header, header.payload_bytes};
    in_begin_ += sizeof header + header.payload_bytes;
    events_.on_frame(header, payload);
    if (down_) return false;
  }
  if (in_begin_ == in_end_) {
    in_begin_ = in_end_ = 0;
  } else if (in_.size() - in_end_ < sizeof header + kFramePayloadBytesMax) {
    std::memmove(in_.data(), in_.data() + in_begin_, in_end_ - in_begin_);
    in_end_ -= in_begin_;
    in_begin_ = 0;
  }
  return true;
}

void TcpLane::go_down(const std::string& reason) {
  if (down_) return;
  down_ = true;
  stream_->want_read(false);
  stream_->want_write(false);
  events_.on_down(reason);
}

}  // namespace hat::engine
