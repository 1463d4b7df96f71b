// SPDX-License-Identifier: Apache-2.0
// bench/model/connection.h: a connection between two threads of modelled hosts, in virtual time.
//
//   socket   of one host (a unix socket, or TCP over loopback): each read and write is a system
//            call, and the write delivers the bytes
//   ring     of shared memory: no system call, unless the other side sleeps
//   TCP      between two hosts: system calls, the network cards, and an interrupt
//
// The thread of an end reads and writes in its steps, and is charged for this. Bytes leave when the
// step has come as far as the write (Thread::now()). A step reads the bytes that had arrived when
// it began. Nothing is lost, and no connection fails.
//
// Bounds   kWindowBytes in each direction, written and not yet read.
// Thread   one thread runs all hosts of a model.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "base/byte_queue.h"
#include "bench/model/card.h"
#include "bench/model/machine.h"

namespace hat::model {

enum class Wire : uint8_t { kSocket, kRing, kTcp };

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  static constexpr size_t kWindowBytes = 256 * 1024;
  enum class Side : uint8_t { kClient, kServer };  // kClient is the side that connects

  // Takes the cards of the two hosts; a connection within a host uses none.
  Connection(Wire wire, Card& client, Card& server) : wire_(wire), cards_{&client, &server} {}

  Wire wire() const { return wire_; }
  // Sets the thread that uses a side, and what to call when the side has news: bytes or the other
  // side's end have arrived, or there is space again. The thread is woken too.
  void use(Side side, Thread& thread, std::function<void()> on_news);
  // Ends the use of a side. The other side reads the end after the bytes.
  void close(Side side);

  bool readable(Side side) const { return !at(side).arrived.empty() || at(side).end_arrived; }
  bool ended(Side side) const { return at(side).arrived.empty() && at(side).end_arrived; }
  size_t space(Side side) const { return kWindowBytes - at(side).outstanding; }
  // Returns the number of bytes that were read; 0 if none had arrived.
  size_t read(Side side, std::span<std::byte> into);
  // Returns the number of bytes that were written: at most space().
  size_t write(Side side, std::span<const iovec> from);
  void end_writes(Side side);

 private:
  struct End {
    Thread* thread = nullptr;  // null before use(), and after close()
    std::function<void()> on_news;
    ByteQueue arrived;
    bool end_arrived = false;
    bool end_sent = false;
    size_t outstanding = 0;  // bytes written that the other side has not read
    Time ready{};            // when the card can send the newest message; over TCP only
    Time arrives{};          // when the other side gets the newest message; over TCP only
  };

  static Side other(Side side) { return side == Side::kClient ? Side::kServer : Side::kClient; }
  End& at(Side side) { return ends_[static_cast<size_t>(side)]; }
  const End& at(Side side) const { return ends_[static_cast<size_t>(side)]; }
  void charge(Side side, size_t bytes);
  void send(Side side, size_t bytes, std::function<void(End& to)> what);
  static void charge_wake(Thread& thread);
  void tell(Side side);

  Card& card_of(Side side) { return *cards_[static_cast<size_t>(side)]; }

  const Wire wire_;
  const std::array<Card*, 2> cards_;
  std::array<End, 2> ends_;
};

}  // namespace hat::model
