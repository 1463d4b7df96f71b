// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/ring_stream.h: a ByteStream to an application over rings in shared memory. It
// first performs the handshake, and then reads and writes the rings.
//
// A ring is *hot* while it has recent traffic: the reactor polls it in each iteration. Before the
// reactor sleeps, it *arms* each hot ring: the stream announces in shared memory that it waits, so
// that the other side rings the doorbell. After the sleep the reactor disarms the ring. When the
// traffic ends, the reactor makes the ring *cold*: the ring stays armed, and is not polled until
// the other side's doorbell makes it hot again.
//
// Thread   Only the reactor's thread uses this class.
#pragma once

#include <event2/event_struct.h>

#include <optional>

#include "base/fifo.h"
#include "client/ring/channel.h"
#include "client/ring/handshake.h"
#include "daemon/reactor/libevent_reactor.h"

namespace hat {

class RingStream final : public ByteStream {
 public:
  // Begins the handshake over `socket`, a connected unix socket.
  RingStream(LibeventReactor& reactor, Descriptor socket, hatrpc::ring::Side side,
             StreamEvents& events);
  // Continues a connection that another stream of the same side has used.
  RingStream(LibeventReactor& reactor, Descriptor socket, hatrpc::ring::Memory memory,
             hatrpc::ring::Side side, StreamEvents& events);
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
  std::shared_ptr<const std::span<std::byte>> memory() override { return mapped(other(side_)); }
  std::span<std::byte> reserve(size_t bytes) override;
  bool unreserve(const std::byte* at) override;
  size_t shortage(size_t bytes) override;
  std::shared_ptr<const std::span<std::byte>> space_memory() override { return mapped(side_); }
  std::vector<int> descriptors() const override;

 private:
  friend class LibeventReactor;

  // --- The reactor calls these while the ring is hot ---
  bool has_news();
  void notify();  // calls on_writable() or on_readable(), which can destroy this
  // Makes the ring cold and asks the other side to ring the doorbell. Returns false, and leaves the
  // ring hot, if there is already something to handle.
  bool cool();
  // Asks the other side to ring the doorbell, while the ring stays hot.
  void arm();
  // Withdraws the request of arm().
  void disarm();
  TimePoint hot_since() const { return hot_since_; }

  // How the stream notices changes in the ring. The transitions are kNone ──▶ kPolled ◀──▶
  // kDoorbell and kPolled ──▶ kNone.
  enum class Attention : uint8_t {
    kNone,      // by socket events only: no event is wanted, or the ring does not exist yet
    kPolled,    // hot: the reactor polls the ring in each iteration
    kDoorbell,  // cold: the other side knows that it must ring the doorbell
  };
  void change_to(Attention next);

  // Bytes that the reader took from the ring and that the other side must not overwrite yet: they,
  // or bytes before them, are borrowed.
  struct Held {
    size_t bytes;
    bool borrowed;
  };
  uint64_t hold(size_t bytes, bool borrowed);
  // Space that reserve() has returned.
  struct Reserved {
    const std::byte* data;
    size_t bytes;
  };
  size_t unread(size_t at_most);
  bool has_half_free();
  bool may_write() { return reserved_.empty() && !channel_->writable().empty(); }
  IoResult write_reserved();
  size_t ahead(const std::byte* at);
  std::shared_ptr<const std::span<std::byte>> mapped(hatrpc::ring::Side writer);
  static IoResult broken();

  static void on_event(evutil_socket_t, short, void* self);
  void greet();
  void heat();
  bool reading() const { return (wanted_ & hatrpc::ring::kForData) != 0; }
  bool writing() const { return (wanted_ & hatrpc::ring::kForSpace) != 0; }
  void want(uint32_t event, bool wanted);
  uint32_t wishes() const;

  // The members up to the first ones of channel_ are all that a poll of a ring to read from needs.
  // They are together, because a reactor polls many streams in a row.
  int error_ = 0;        // an errno value: the handshake or a write of reserved bytes has failed
  uint32_t wanted_ = 0;  // the events that the owner wants: hatrpc::ring::kForData, kForSpace
  Attention attention_ = Attention::kNone;
  bool again_ = false;             // read_again() was called
  bool awaits_half_free_ = false;  // shortage() has found that less than a quarter is free
  bool ends_writes_ = false;       // shutdown_write() was called, perhaps before channel_ existed
  std::optional<IoResult> ended_;  // set once the end or an error was read: read() returns it from
                                   // then on
  std::optional<hatrpc::ring::Channel> channel_;

  LibeventReactor& reactor_;
  StreamEvents& events_;
  Descriptor socket_;  // empty once channel_ exists, which then owns the socket
  const hatrpc::ring::Side side_;
  TimePoint hot_since_{};  // when something last arrived, or heat() was called
  uint64_t released_ = 0;  // entries removed from held_ since the stream began
  Fifo<Held> held_;
  std::vector<Reserved> reserved_;  // in the order of reserving; few, because they fit the ring
  std::optional<hatrpc::ring::Handshake> handshake_;
  event event_;
};

}  // namespace hat
