// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/loop_fuzz.cc: fuzzes a queue pair of the loop fabric, whose peer writes any
// bytes into the shared memory and sends any control messages. Checks that a posted request
// completes at most once, that bytes arrive only in receives and in targets of READs and atomics,
// and that no call blocks.
#include <cstdlib>
#include <memory>

#include "engine/fabric/loop/fake_peer.h"
#include "engine/fabric/loop/loop_fabric.h"
#include "tests/fuzz/input.h"

namespace hat::engine::loop {
namespace {

// The memory of the fuzzed side has four parts of kPartBytes each: bytes to send, receives, targets
// of READs and atomics, and unused bytes. The bytes to send and the unused bytes must never change.
constexpr size_t kPartBytes = 4096;
constexpr size_t kReceives = 16;
constexpr size_t kReceiveBytes = kPartBytes / kReceives;
constexpr std::byte kSecret{0xa5};

template <class T>
T must(Result<T> result) {
  if (!result) std::abort();
  return std::move(*result);
}

class Victim {
 public:
  Victim()
      : fabric_(must(open_loop_fabric())),
        memory_(must(SharedMemory::create("victim", 4 * kPartBytes))),
        region_(must(fabric_->register_memory(memory_, {.write = true, .read = true}))),
        cq_(must(fabric_->create_completion_queue(256))),
        srq_(must(fabric_->create_receive_queue(kReceives))),
        pair_(must(fabric_->create_queue_pair({.send_cq = *cq_,
                                               .recv_cq = *cq_,
                                               .srq = *srq_,
                                               .inline_bytes_max = 64,
                                               .access = {.write = true, .read = true}}))) {
    std::ranges::fill(part(0), kSecret);
    std::ranges::fill(part(3), kSecret);
    for (uint64_t i = 0; i < kReceives; ++i) receive(i);
  }
  ~Victim() {
    for (const size_t untouched : {size_t{0}, size_t{3}}) {
      for (const std::byte byte : part(untouched)) {
        if (byte != kSecret) std::abort();
      }
    }
    if (completed_ > posted_) std::abort();
  }

  QueuePair& pair() { return *pair_; }

  void post(FuzzInput& input, FakePeer& peer) {
    constexpr std::array<Opcode, 7> kOpcodes = {
        Opcode::kSend, Opcode::kSendImm,     Opcode::kWrite,   Opcode::kWriteImm,
        Opcode::kRead, Opcode::kCompareSwap, Opcode::kFetchAdd};
    const Opcode opcode = kOpcodes[input.next() % kOpcodes.size()];
    const bool brings = opcode >= Opcode::kRead;
    const uint32_t bytes = opcode > Opcode::kRead ? 8 : input.next();
    const size_t offset = (brings ? 2 * kPartBytes : 0) + size_t{input.next()} * 8;
    const Segment segment{region_->bytes().data() + offset, bytes, region_->lkey()};
    const WorkRequest work{.id = posted_,
                           .opcode = opcode,
                           .inlined = opcode <= Opcode::kSendImm && bytes <= 64,
                           .segments = {&segment, 1},
                           .remote_address = peer.address() + size_t{input.next()} * 16,
                           .rkey = FakePeer::kKey};
    posted_ += pair_->post({&work, 1});
  }
  void iterate() {
    while (fabric_->next_event()) {
    }
    cq_->arm(false);
    cq_->take_events();
    std::array<Completion, 8> done;
    const size_t count = cq_->poll(done);
    for (size_t i = 0; i < count; ++i) {
      const bool received =
          done[i].opcode == Opcode::kReceive || done[i].opcode == Opcode::kReceiveWriteImm;
      if (!received && done[i].id != completed_++) std::abort();
      if (received && done[i].id >= kReceives) std::abort();
      if (received) receive(done[i].id);
    }
  }

 private:
  std::span<std::byte> part(size_t index) {
    return region_->bytes().subspan(index * kPartBytes, kPartBytes);
  }
  void receive(uint64_t id) {
    const Segment segment{part(1).data() + id * kReceiveBytes, kReceiveBytes, region_->lkey()};
    const ReceiveRequest request{.id = id, .segments = {&segment, 1}};
    if (srq_->post({&request, 1}) != 1) std::abort();
  }

  std::unique_ptr<Fabric> fabric_;
  SharedMemory memory_;
  std::unique_ptr<MemoryRegion> region_;
  std::unique_ptr<CompletionQueue> cq_;
  std::unique_ptr<ReceiveQueue> srq_;
  std::unique_ptr<QueuePair> pair_;
  uint64_t posted_ = 0;
  uint64_t completed_ = 0;
};

uint64_t number(FuzzInput& input) {
  constexpr std::array<uint64_t, 8> kNumbers = {0,    1,          2,          255,
                                                4096, UINT32_MAX, UINT64_MAX, UINT64_MAX / 2};
  const uint8_t which = input.next();
  return which < kNumbers.size() ? kNumbers[which] : which;
}

void write_words(FuzzInput& input, FakePeer& peer) {
  const uint64_t value = number(input);
  const auto small = static_cast<uint32_t>(value);
  RegionRow& row = peer.table().rows[FakePeer::kKey % kRegionsMax];
  switch (input.next() % 14) {
    case 0:
      return peer.to().touching.store(small);
    case 1:
      return peer.to().sender_failed.store(small);
    case 2:
      return peer.from().taken.store(value);
    case 3:
      return peer.from().gathering.store(small);
    case 4:
      return peer.from().refused.store(value);
    case 5:
      return peer.from().rights.store(small);
    case 6:
      return peer.from().receiver_gone.store(small);
    case 7:
      return peer.from().wakes_receiver.store(Wake(small));
    case 8:
      return peer.to().wakes_sender.store(Wake(small));
    case 9:
      return row.key.store(small);
    case 10:
      row.rights = small;
      return;
    case 11:
      row.address = value % 2 == 0 ? value : peer.address() + value;
      return;
    case 12:
      row.bytes = value;
      return;
    default:
      return peer.to().entries[value % kRingEntries].turn.store(small);
  }
}

void push(FuzzInput& input, FakePeer& peer) {
  const EntryHead head{.opcode = Opcode(input.next()),
                       .inlined = static_cast<uint8_t>(input.next() % 2),
                       .segment_count = input.next(),
                       .imm = input.next(),
                       .bytes = static_cast<uint32_t>(number(input))};
  const RingSegment segment{peer.address() + number(input), static_cast<uint32_t>(number(input)),
                            FakePeer::kKey + input.next() % 2};
  const std::array<RingSegment, 2> segments = {segment, segment};
  peer.push(head, std::span(segments).first(head.inlined != 0 ? 0 : input.next() % 3));
}

void send_message(FuzzInput& input, FakePeer& peer) {
  const ChannelMessage message{.kind = ChannelMessage::Kind(input.next() % 6), .key = input.next()};
  if (input.next() % 2 == 0) {
    peer.channel().send(message, {});
  } else {
    peer.channel().send(message, {peer.memory_fd()});
  }
}

void run(FuzzInput& input) {
  Victim victim;
  if (!victim.pair().connect(FakePeer::own_address())) std::abort();
  FakePeer peer(victim.pair().address());
  victim.iterate();
  while (!input.empty()) {
    switch (input.next() % 8) {
      case 0:
      case 1:
        write_words(input, peer);
        break;
      case 2:
        push(input, peer);
        break;
      case 3:
        victim.post(input, peer);
        break;
      case 4:
        send_message(input, peer);
        break;
      case 5:
        victim.pair().fail();
        break;
      case 6:
        peer.channel().close();
        break;
      default:
        victim.iterate();
    }
  }
  victim.iterate();
}

}  // namespace
}  // namespace hat::engine::loop

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hat::FuzzInput input(data, size);
  hat::engine::loop::run(input);
  return 0;
}
