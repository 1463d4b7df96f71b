// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/fake_peer.h: a fake peer for a queue pair of the loop fabric, for tests. The
// test acts as the peer, so it can write anything into the memory that the queue pair shares with
// its peer.
//
//   pair.connect(FakePeer::own_address());
//   FakePeer peer(pair.address());   // connects to the queue pair
//   fabric.next_event();             // accepts the connection of the fake peer
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
  static constexpr uint32_t kKey = kRegionsMax + 1;  // the key of memory(); row 1 of table()

  // Returns the fake peer's address. It has the queue pair number 0, so it is smaller than every
  // real address. The side with the smaller address, the fake peer, creates the shared memory.
  static QueuePairAddress own_address() {
    QueuePairAddress address{};
    address[4] = std::byte{1};  // the length of the name of the fake peer's listener
    return address;
  }

  // Connects to the queue pair with the address `other`. Sends the descriptor `doorbell` as the
  // handle of the fake peer's doorbell, or the handle of a real doorbell if `doorbell` is -1.
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

  // Returns the name of a fabric's listener (a unix socket), which a queue pair's address contains.
  static std::string listener_of(const QueuePairAddress& address) { return Known(address).name; }

  Direction& to() { return both().directions[0]; }    // the fake peer sends
  Direction& from() { return both().directions[1]; }  // the fake peer receives
  RegionTable& table() { return *reinterpret_cast<RegionTable*>(table_.bytes().data()); }
  std::span<std::byte> memory() { return memory_.bytes(); }
  uint64_t address() { return reinterpret_cast<uint64_t>(memory_.bytes().data()); }
  int memory_fd() const { return memory_.fd(); }
  Channel& channel() { return channel_; }
  Doorbell& doorbell() { return doorbell_; }

  // Writes the next entry to the ring. Does not check that the entry is valid.
  void push(const EntryHead& head, std::span<const RingSegment> segments) {
    RingEntry& entry = to().entries[pushed_ % kRingEntries];
    entry.head = head;
    std::ranges::copy(segments, entry.segments);
    entry.turn.store(turn_of(pushed_++), std::memory_order_release);
  }

 private:
  // The contents of a queue pair's address, in the format of queue_pair.cc.
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
