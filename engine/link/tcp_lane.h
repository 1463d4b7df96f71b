// SPDX-License-Identifier: Apache-2.0
// engine/link/tcp_lane.h: a lane over one byte stream, which sends the frames of one event-loop
// iteration in one write.
//
// Bounds   payloads of at most kFramePayloadBytesMax; congested() from kCongestedBytes queued. If
//          more than kQueuedBytesMax are queued, the lane goes down: its peer sends pings and
//          calls, and does not read the answers.
// Memory   a receive buffer, of kFirstBytes until the first frame has arrived, because anybody may
//          connect; a send buffer, which keeps the largest capacity that it has needed.
// Thread   the reactor's.
// Errors   on_down() once, with the reason as a sentence: end of stream, an errno, or a frame that
//          breaks the format.
#pragma once

#include <memory>
#include <vector>

#include "base/buffered_writer.h"
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

  // Creates the stream with `open`; the lane is that stream's events.
  TcpLane(Reactor& reactor, const OpenStream& open, LaneEvents& events);

  uint64_t send(FrameHeader header, std::initializer_list<Bytes> pieces) override;
  Fate fate(uint64_t number) const override {
    return number < written_ ? Fate::kUnknown : Fate::kNotDelivered;
  }
  bool congested() const override { return congested_; }
  bool broken() const override { return write_error_ != 0; }
  bool idle() const override { return out_.empty() && stream_->all_sent(); }
  void flush() override;
  // Ends this side's direction: the peer reads the end and closes the connection. Call it only if
  // nothing is queued and nothing more will be sent.
  void end_writes();

  // Returns when bytes last arrived, for the keep-alive.
  TimePoint last_received() const { return last_received_; }
  // Returns the names that the other side has proved to have (ByteStream::peer_names()).
  std::span<const std::string> peer_names() const { return stream_->peer_names(); }

 private:
  void on_readable() override;
  void on_writable() override;
  bool holds_frame() const;  // true for a complete frame, or one that breaks the format
  bool begins_with_tls() const;
  void take_part();
  void on_write_error(int error);
  void go_down(const std::string& reason);
  void wrote(const BufferedWriter::Written& written);

  Reactor& reactor_;
  LaneEvents& events_;
  std::vector<std::byte> in_;  // its size is the space for received bytes
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  size_t part_bytes_ = 0;
  BufferedWriter out_{kCongestedBytes};
  // All bytes that the stream has accepted. A frame's number is the count of the bytes before it.
  uint64_t written_ = 0;
  bool congested_ = false;
  int write_error_ = 0;  // if not 0, the lane sends no more, and reads the stream to its end
  bool down_ = false;
  TimePoint last_received_;
  // The last member, so that it is destroyed first: no event then reaches a half-destroyed lane.
  std::unique_ptr<ByteStream> stream_;
};

}  // namespace hat::engine
