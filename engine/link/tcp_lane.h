// SPDX-License-Identifier: Apache-2.0
// engine/link/tcp_lane.h: carries frames between two daemons over one byte stream (a TCP
// connection, possibly with TLS). All frames of one event-loop iteration are sent in one write.
//
// Bounds   The payload of a frame has at most kFramePayloadBytesMax bytes. congested() becomes true
//          when kCongestedBytes bytes are queued, and becomes false again when at most half of
//          kCongestedBytes are queued. If more than kQueuedBytesMax bytes are queued, the lane goes
//          down, because its peer sends pings and calls but does not read the answers.
// Memory   A lane has a receive buffer, which has only kFirstBytes until the first frame has
//          arrived, because any host may connect. The send buffer keeps at most kKeepBytes while it
//          is empty.
// Thread   Only the reactor's thread uses this class.
// Errors   on_down() is called once, with the reason as a sentence: the end of the stream, a system
//          error, or an invalid frame.
#pragma once

#include <memory>

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
  // The largest send buffer that the lane keeps while no frame is queued, so that an iteration that
  // sends up to kCongestedBytes allocates nothing.
  static constexpr size_t kKeepBytes = 4 * kCongestedBytes;
  static_assert(kReceiveBytes >= 2 * (sizeof(FrameHeader) + kFramePayloadBytesMax));

  // Creates the byte stream with `open`; the stream calls this object's StreamEvents functions.
  TcpLane(Reactor& reactor, const OpenStream& open, LaneEvents& events);

  uint64_t send(FrameHeader header, std::initializer_list<Bytes> pieces) override;
  Fate fate(uint64_t number) const override {
    return number < written_ ? Fate::kUnknown : Fate::kNotDelivered;
  }
  bool congested() const override { return congested_; }
  bool broken() const override { return write_error_ != 0; }
  bool idle() const override { return out_.empty() && stream_->all_sent(); }
  void flush() override;
  // Closes this side's direction of the byte stream: the peer reads the end of the stream and
  // closes the connection. Call it only if nothing is queued and nothing more will be sent.
  void end_writes();

  // Returns the time at which bytes last arrived; the session uses this time for its keep-alive.
  TimePoint last_received() const { return last_received_; }
  // Returns the names that the other side has proved to have (ByteStream::peer_names()).
  std::span<const std::string> peer_names() const { return stream_->peer_names(); }

 private:
  void on_readable() override;
  void on_writable() override;
  bool holds_frame() const;  // returns true if `in_` begins with a complete or an invalid frame
  bool begins_with_tls() const;
  void take_part();
  void keep_unread();
  void on_write_error(int error);
  void go_down(const std::string& reason);
  void wrote(const BufferedWriter::Written& written);

  Reactor& reactor_;
  LaneEvents& events_;
  // The receive buffer of `in_bytes_` bytes. It is not initialised, because the kernel gives memory
  // only to pages that were written: few of an idle link, and a node can have thousands of these.
  std::unique_ptr<std::byte[]> in_ = std::make_unique_for_overwrite<std::byte[]>(kFirstBytes);
  size_t in_bytes_ = kFirstBytes;
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  size_t part_bytes_ = 0;
  BufferedWriter out_{kKeepBytes};
  // All bytes that the stream has accepted. A frame's number is the count of the bytes before it.
  uint64_t written_ = 0;
  bool congested_ = false;
  int write_error_ = 0;  // if not 0, the lane sends no more, and reads the stream to its end
  bool down_ = false;
  TimePoint last_received_;
  // The stream is the last member, so it is destroyed first, and cannot call an object that is half
  // destroyed.
  std::unique_ptr<ByteStream> stream_;
};

}  // namespace hat::engine
