// SPDX-License-Identifier: Apache-2.0
#include "bench/model/connection.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace hat::model {

void Connection::use(Side side, Thread& thread, std::function<void()> on_news) {
  End& end = at(side);
  end.thread = &thread;
  end.on_news = std::move(on_news);
  if (readable(side)) tell(side);
}

void Connection::close(Side side) {
  end_writes(side);
  at(side).thread = nullptr;
  at(side).on_news = nullptr;
}

// Charges the thread of `side` for a read or a write of `bytes` bytes.
void Connection::charge(Side side, size_t bytes) {
  Thread& thread = *at(side).thread;
  const Hardware& hardware = thread.machine().hardware();
  switch (wire_) {
    case Wire::kSocket:
      thread.charge(hardware.system_call + (bytes == 0 ? Time(0) : hardware.socket_message));
      break;
    case Wire::kRing:
      thread.charge(bytes == 0 ? hardware.empty_poll : hardware.ring_message);
      break;
    case Wire::kTcp:
      thread.charge(hardware.system_call + (bytes == 0 ? Time(0) : hardware.tcp_message));
      break;
  }
  thread.charge(time_for(bytes, hardware.copied_per_ns));
}

size_t Connection::read(Side side, std::span<std::byte> into) {
  End& end = at(side);
  const size_t bytes = std::min(into.size(), end.arrived.size());
  charge(side, bytes);
  if (bytes == 0) return 0;
  std::ranges::copy(end.arrived.bytes().first(bytes), into.begin());
  end.arrived.consume(bytes);
  End& writer = at(other(side));
  const bool was_full = writer.outstanding == kWindowBytes;
  writer.outstanding -= bytes;
  if (!was_full || writer.thread == nullptr) return bytes;
  if (wire_ == Wire::kTcp) {
    tell(other(side));
    return bytes;
  }
  if (writer.thread->sleeps()) charge_wake(*end.thread);
  end.thread->machine().schedule().at(end.thread->now(), [self = shared_from_this(), side] {
    if (self->at(other(side)).thread != nullptr) self->tell(other(side));
  });
  return bytes;
}

size_t Connection::write(Side side, std::span<const iovec> from) {
  End& end = at(side);
  CHECK(!end.end_sent) << "bytes after the end";
  std::vector<std::byte> bytes;
  for (const iovec& piece : from) {
    const size_t taken = std::min(piece.iov_len, space(side) - bytes.size());
    const auto* data = static_cast<const std::byte*>(piece.iov_base);
    bytes.insert(bytes.end(), data, data + taken);
  }
  const size_t count = bytes.size();
  charge(side, count);
  if (count == 0) return 0;
  end.outstanding += count;
  send(side, count, [bytes = std::move(bytes)](End& to) { to.arrived.append(bytes); });
  return count;
}

void Connection::end_writes(Side side) {
  if (std::exchange(at(side).end_sent, true)) return;
  send(side, 0, [](End& to) { to.end_arrived = true; });
}

// Charges a thread that wakes another thread of its host.
void Connection::charge_wake(Thread& thread) {
  const Machine& machine = thread.machine();
  const Hardware& hardware = machine.hardware();
  thread.charge(machine.has_idle_core() ? hardware.wake_idle_call : hardware.wake_call);
}

// Sends `what` to the other side, after everything that was sent before. A thread that wakes
// another one of its host is charged for this.
void Connection::send(Side side, size_t bytes, std::function<void(End& to)> what) {
  End& end = at(side);
  const End& peer = at(other(side));
  Schedule& schedule = end.thread->machine().schedule();
  auto deliver = [self = shared_from_this(), to = other(side), what = std::move(what)] {
    End& reader = self->at(to);
    what(reader);
    if (reader.thread != nullptr) self->tell(to);
  };
  if (wire_ != Wire::kTcp) {
    schedule.at(end.thread->now(), std::move(deliver));
    if (peer.thread != nullptr && peer.thread->sleeps()) charge_wake(*end.thread);
    return;
  }
  const Hardware& hardware = end.thread->machine().hardware();  // of both hosts
  end.ready = std::max(end.ready, end.thread->now() + hardware.pcie_write + hardware.pcie_read +
                                      on_pcie(hardware, bytes));
  Card& card = card_of(side);
  Card& there = card_of(other(side));
  schedule.at(
      end.ready, [&schedule, &hardware, &end, &card, &there, bytes, deliver = std::move(deliver)] {
        const Time left = card.send(hardware, schedule.now(), bytes);
        schedule.at(left + hardware.wire, [&schedule, &hardware, &end, &there, bytes, deliver] {
          const Time has = there.receive(hardware, schedule.now(), bytes);
          end.arrives = std::max(end.arrives, has + hardware.pcie_write + on_pcie(hardware, bytes));
          schedule.at(end.arrives, deliver);
        });
      });
}

// Calls on_news of `side`, and wakes its thread.
void Connection::tell(Side side) {
  const End& end = at(side);
  if (end.on_news) end.on_news();
  wire_ == Wire::kTcp ? end.thread->poke(true) : end.thread->wake(at(other(side)).thread);
}

}  // namespace hat::model
