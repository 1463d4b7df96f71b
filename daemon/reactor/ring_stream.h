// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/ring_stream.h: an application on shared memory, as a Stream: the greeting, then
// the rings.
//
// While the reactor looks rather than sleeps, it looks into each ring that is *hot*: those over
// which something came lately. A cold one has said in shared memory that it waits, and its bell
// makes it hot again.
//
// Thread   the reactor's.
#pragma once

#include <event2/event_struct.h>

#include <optional>

#include "base/fifo.h"
#include "client/ring/channel.h"
#include "client/ring/handshake.h"
#include "daemon/reactor/libevent_reactor.h"

namespace hat {

class RingStream final : public Stream {
 public:
  // Owns `fd`, a connected unix socket; -1 with an errno value for a stream that is dead from the
  // start.
  RingStream(LibeventReactor& reactor, int fd, int error, hatrpc::ring::Side side,
             StreamEvents& events);
  // Goes on where another stream of that side has been: owns its socket.
  RingStream(LibeventReactor& reactor, int fd, hatrpc::ring::Memory memory, hatrpc::ring::Side side,
             StreamEvents& events);
  ~RingStream() override;

  IoResult read(std::span<std::byte> into) override;
  IoResult write(std::span<const iovec> from) override;
  void shutdown_write() override;
  void want_read(bool wanted) override;
  void want_write(bool wanted) override;
  void read_again() override {
    again_ = true;
    heat();
  }
  void abort_on_close() override;
  std::span<const std::byte> peek() override;
  void take(size_t bytes) override { hold(bytes, false); }
  uint64_t borrow(size_t bytes) override { return hold(bytes, true); }
  void give_back(uint64_t borrowed) override;
  std::shared_ptr<const std::span<std::byte>> memory() override;
  std::vector<int> descriptors() const override;

 private:
  friend class LibeventReactor;

  // From the reactor, while hot.
  bool has_news();
  void tell();  // of the news; may destroy this
  // Has the other side ring. False: there is something to look at.
  bool cool();
  TimePoint hot_since() const { return hot_since_; }

  // Bytes that were read, until they and all before them are nobody's.
  struct Held {
    size_t bytes;
    bool borrowed;
  };
  uint64_t hold(size_t bytes, bool borrowed);
  static IoResult broken();

  static void on_event(evutil_socket_t, short, void* self);
  void greet();
  void heat();
  uint32_t wishes() const;

  LibeventReactor& reactor_;
  StreamEvents& events_;
  const int fd_;
  const hatrpc::ring::Side side_;
  int error_;
  bool reading_ = false;
  bool writing_ = false;
  bool hot_ = false;
  bool again_ = false;             // read_again()
  std::optional<IoResult> ended_;  // what read() says from then on, whatever the other side does
  bool armed_ = false;             // cold, and it said so
  bool ends_writes_ = false;       // asked for before there was a channel
  TimePoint hot_since_{};          // something came
  uint64_t released_ = 0;          // of all that was held, so many are not any more
  Fifo<Held> held_;
  std::optional<hatrpc::ring::Handshake> handshake_;
  std::optional<hatrpc::ring::Channel> channel_;  // owns fd_ from then on
  event event_;
};

}  // namespace hat
