// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/fake_peer.h: for tests: a peer of a loop queue pair that the test itself
// plays, so that the test can write anything into the memory that both share.
//
//   pair.connect(FakePeer::own_address());
//   FakePeer peer(pair.address());   // connects
//   fabric.next_event();             // accepts it
//   peer.to().touching.store(1);
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/shared_memory.h"
#include "engine/fabric/loop/channel.h"
#include "engine/fabric/loop/doorbell.h"
#include "engine/fabric/loop/wire.h"

namespace hat::engine::loop {

class FakePeer {
 public:
  static constexpr size_t kMemoryBytes = 4096;
  static constexpr uint32_t kKey = kRegionsMax + 1;  // of its memory, in row 1

  // Returns an address that is smaller than all real ones, since queue pair numbers begin at 1. So
  // it is the fake peer that creates the shared memory.
  static QueuePairAddress own_address() {
    QueuePairAddress address{};
    address[4] = std::byte{1};  // the length of its listener's name
    return address;
  }

  // Connects to the queue pair at `other`. Offers it the descriptor `doorbell` as its doorbell, or
  // a real doorbell if `doorbell` is -1.
  explicit FakePeer(const QueuePairAddress& other, int doorbell = -1)
      : pair_(must(SharedMemory::create("fake-pair", sizeof(Pair)))),
        table_(must(SharedMemory::create("fake-table", sizeof(RegionTable)))),
        memory_(must(SharedMemory::create("fake-memory", kMemoryBytes))),
        doorbell_(must(Doorbell::create())) {
    const Known known(other);
    channel_ = must(Channel::connect(known.name));
    ChannelMessage hello{
        .kind = ChannelMessage::Kind::kHello, .nonce = known.nonce, .target = known.number};
    hello.sender = own_address();
    RegionRow& row = table().rows[kKey % kRegionsMax];
    row.rights = kMayWrite | kMayRead | kMayAtomic;
    row.address = this->address();
    row.bytes = kMemoryBytes;
    row.key.store(kKey);
    const int rung = doorbell < 0 ? doorbell_.handle() : doorbell;
    check(channel_.send(hello, {pair_.fd(), table_.fd(), rung, rung}));
    check(channel_.send({.kind = ChannelMessage::Kind::kRegion, .key = kKey}, {memory_.fd()}));
    check(channel_.send({.kind = ChannelMessage::Kind::kReady}, {}));
  }

  // Returns the name of the listener in an address.
  static std::string listener_of(const QueuePairAddress& address) { return Known(address).name; }

  Direction& to() { return both().directions[0]; }    // the fake peer sends
  Direction& from() { return both().directions[1]; }  // the fake peer receives
  RegionTable& table() { return *reinterpret_cast<RegionTable*>(table_.bytes().data()); }
  std::span<std::byte> memory() { return memory_.bytes(); }
  uint64_t address() { return reinterpret_cast<uint64_t>(memory_.bytes().data()); }
  int memory_fd() const { return memory_.fd(); }
  Channel& channel() { return channel_; }
  Doorbell& doorbell() { return doorbell_; }

  // Writes an entry to the ring, without a check.
  void push(const EntryHead& head, std::span<const RingSegment> segments) {
    RingEntry& entry = to().entries[pushed_ % kRingEntries];
    entry.head = head;
    std::ranges::copy(segments, entry.segments);
    entry.turn.store(turn_of(pushed_++), std::memory_order_release);
  }

 private:
  // The contents of an address, in the format of queue_pair.cc.
  struct Known {
    explicit Known(const QueuePairAddress& address) {
      uint32_t name_bytes = 0;
      std::memcpy(&number, address.data(), sizeof number);
      std::memcpy(&name_bytes, address.data() + 4, sizeof name_bytes);
      std::memcpy(&nonce, address.data() + 8, sizeof nonce);
      name.assign(reinterpret_cast<const char*>(address.data()) + 16, name_bytes);
    }
    uint32_t number = 0;
    uint64_t nonce = 0;
    std::string name;
  };

  template <class T>
  static T must(Result<T> result) {
    check(result.has_value());
    return std::move(*result);
  }
  static void check(bool good) {
    if (!good) std::abort();
  }
  Pair& both() { return *reinterpret_cast<Pair*>(pair_.bytes().data()); }

  SharedMemory pair_;
  SharedMemory table_;
  SharedMemory memory_;
  Doorbell doorbell_;
  Channel channel_;
  uint64_t pushed_ = 0;
};

}  // namespace hat::engine::loop
