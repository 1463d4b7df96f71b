// SPDX-License-Identifier: Apache-2.0
// engine/link/tcp_lane.h: frames over one byte stream, batched: a turn's frames leave in one write.
//
// Bounds   frames of at most kFramePayloadBytesMax; kCongestedBytes queued before congested().
// Beyond
//          kQueuedBytesMax the lane goes down: its peer asks (pings, calls) and reads no answers.
// Memory   a receive buffer, of kFirstBytes until a first frame has come (anybody may connect); a
//          send buffer that keeps the capacity it once needed.
// Thread   the reactor's.
// Errors   on_down() once, with the reason in words: end of stream, an errno, or a frame
//          that breaks the format.
#pragma once

#include <memory>
#include <vector>

#include "base/reactor.h"
#include "engine/lane.h"
#include "engine/link/seal.h"

namespace hat::engine {

class TcpLane final : public Lane, private StreamEvents {
 public:
  static constexpr size_t kCongestedBytes = 1024 * 1024;
  static constexpr size_t kQueuedBytesMax = 16 * 1024 * 1024;
  static constexpr size_t kFirstBytes = 4 * 1024;
  static constexpr size_t kReceiveBytes = 256 * 1024;
  static_assert(kReceiveBytes >= 2 * (sizeof(FrameHeader) + kFramePayloadBytesMax));

  // Makes the stream through `open`, which is given the lane as the stream's events.
  TcpLane(Reactor& reactor, const OpenStream& open, LaneEvents& events);

  uint64_t send(FrameHeader header, std::initializer_list<Bytes> pieces) override;
  Fate fate(uint64_t number) const override {
    return number < written_ ? Fate::kUnknown : Fate::kNotDelivered;
  }
  bool congested() const override { return congested_; }
  bool broken() const override { return write_error_ != 0; }
  bool idle() const override { return queued() == 0 && stream_->all_sent(); }
  void flush() override;
  // Nothing is queued, and nothing more will be sent: the peer reads the end, and closes.
  void end_writes();

  // When bytes last came in, for keep-alive.
  TimePoint last_received() const { return last_received_; }
  // Who the other side has proved to be (Stream::peer_names()).
  std::span<const std::string> peer_names() const { return stream_->peer_names(); }

 private:
  void on_readable() override;
  void on_writable() override;
  bool holds_frame() const;  // whole, or one that breaks the format
  bool begins_with_tls() const;
  void take_part();
  void on_write_error(int error);
  void go_down(const std::string& reason);
  size_t queued() const { return out_.size() - out_sent_; }

  Reactor& reactor_;
  LaneEvents& events_;
  std::vector<std::byte> in_;  // as long as the bytes that it has room for
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  size_t part_bytes_ = 0;
  std::vector<std::byte> out_;
  size_t out_sent_ = 0;
  uint64_t written_ =
      0;  // bytes that the stream ever took; a frame's number counts those before it
  bool congested_ = false;
  bool write_blocked_ = false;
  int write_error_ = 0;  // it takes no more, and is read to its end
  bool down_ = false;
  TimePoint last_received_;
  std::unique_ptr<Stream> stream_;  // last: gone first, so that no event meets half a lane
};

}  // namespace hat::engine
