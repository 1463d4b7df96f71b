// SPDX-License-Identifier: Apache-2.0
// engine/rdma/lane_fuzz.cc: fuzzes a lane whose other side is hostile: a queue pair that sends
// arbitrary bytes, and writes arbitrary bytes to all memory that it can access. The lane must
// deliver well-formed messages or go down with a reason, and must free all of its memory.
#include <cstdlib>
#include <cstring>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"
#include "engine/rdma/sum.h"
#include "tests/fuzz/input.h"

namespace hat::engine {
namespace {

constexpr size_t kHostileBytes = 64 * 1024;
constexpr ArenaOptions kArena{.bytes = {256 << 10, 256 << 10, 768 << 10}};

template <class T>
T must(Result<T> result) {
  if (!result) std::abort();
  return std::move(*result);
}

// The owner of the lane: reads every byte of each payload, and answers calls.
struct Owner final : LaneEvents {
  void on_frame(const FrameHeader& header, Bytes payload) override {
    if (payload.size() > kMessageBytesMax) std::abort();
    for (const std::byte byte : payload) sum += static_cast<unsigned>(byte);
    if (header.kind == FrameKind::kCall && header.replies != 0) {
      lane->send({.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = 1},
                 {payload.first(std::min<size_t>(payload.size(), 100))});
    }
  }
  void on_down(const std::string& reason) override {
    if (down || reason.empty()) std::abort();
    down = true;
  }
  RdmaLane* lane = nullptr;
  unsigned sum = 0;
  bool down = false;
};

class Hostile {
 public:
  explicit Hostile(FuzzInput& input)
      : input_(input),
        fabric_(must(open_loop_fabric())),
        memory_(must(SharedMemory::create("hostile", kHostileBytes))),
        region_(must(fabric_->register_memory(memory_, {.write = true, .read = true}))),
        cq_(must(fabric_->create_completion_queue(256))),
        srq_(must(fabric_->create_receive_queue(64))),
        pair_(must(fabric_->create_queue_pair({.send_cq = *cq_,
                                               .recv_cq = *cq_,
                                               .srq = *srq_,
                                               .access = {.write = true, .read = true}}))) {
    for (uint64_t i = 0; i < 64; ++i) receive();
  }

  LaneOffer offer() const {
    const RemoteBuffer all{region_->address(), kHostileBytes, region_->rkey()};
    return {pair_->address(), all, all, all, all};
  }
  // Returns an offer whose remote buffers have addresses and sizes that the input chooses.
  LaneOffer false_offer() {
    LaneOffer made = offer();
    for (RemoteBuffer* remote :
         {&made.slots, &made.window, &made.sender_extra, &made.receiver_extra}) {
      remote->address += uint64_t{input_.next()} << (input_.next() % 64);
      remote->bytes >>= input_.next() % 32;
      remote->rkey ^= input_.next() % 4u;
    }
    made.message_bytes_max = uint64_t{input_.next()} << (input_.next() % 64);
    return made;
  }
  void connect(const LaneOffer& lane) {
    lane_ = lane;
    (void)pair_->connect(lane.queue_pair);
  }

  // Performs one action that the input chooses.
  void act() {
    const uint8_t what = input_.next();
    const size_t offset = input_.next() * 64;
    if (what % 4 == 0) return fill(offset);
    WorkRequest work{.opcode = Opcode::kSend};
    uint32_t bytes = what % 4 == 1 ? 48 + input_.next() % 32 : input_.next() * 16u;
    if (what % 4 != 1) {
      const RemoteBuffer& remote = input_.next() % 2 == 0 ? lane_.window : lane_.receiver_extra;
      work.opcode = what % 4 == 2 ? Opcode::kWriteImm : Opcode::kWrite;
      work.imm = imm_of(Leg(input_.next() % 16), input_.next());
      work.remote_address = remote.address + input_.next() * 16;
      work.rkey = remote.rkey;
    }
    const Segment segment{region_->bytes().data() + offset, bytes, region_->lkey()};
    work.segments = {&segment, 1};
    pair_->post({&work, 1});
  }
  void iterate() {
    while (fabric_->next_event()) {
    }
    std::array<Completion, 16> done;
    const size_t count = cq_->poll(done);
    for (size_t i = 0; i < count; ++i) {
      if (done[i].status == Status::kSuccess && done[i].id == 1) receive();
    }
  }

 private:
  // Writes an envelope with a correct checksum, whose fields the input chooses. Depending on the
  // input, then makes the envelope's length wrong, and adds a remote buffer.
  void fill(size_t offset) {
    Envelope envelope{.sequence = input_.next(),
                      .delivered = input_.next(),
                      .kind = ControlKind(input_.next() % 12),
                      .leg = Leg(input_.next() % 12),
                      .fetch_epoch = input_.next(),
                      .frame = {.payload_bytes = input_.next(),
                                .kind = FrameKind::kCall,
                                .flags = kLastPiece,
                                .replies = 1,
                                .stream = 1,
                                .call = 1}};
    std::byte* at = region_->bytes().data() + offset;
    envelope.checksum = sum_of(envelope, at + sizeof envelope);
    if (input_.next() % 8 == 0) envelope.frame.payload_bytes *= 0x1000001;
    std::memcpy(at, &envelope, sizeof envelope);
    const RemoteBuffer remote{region_->address(), uint32_t{input_.next()} << 8, region_->rkey()};
    if (input_.next() % 2 == 0) std::memcpy(at + sizeof envelope, &remote, sizeof remote);
  }
  void receive() {
    const Segment segment{region_->bytes().data() + 32 * 1024, kReceiveBytes, region_->lkey()};
    const ReceiveRequest request{.id = 1, .segments = {&segment, 1}};
    srq_->post({&request, 1});
  }

  FuzzInput& input_;
  std::unique_ptr<Fabric> fabric_;
  SharedMemory memory_;
  std::unique_ptr<MemoryRegion> region_;
  std::unique_ptr<CompletionQueue> cq_;
  std::unique_ptr<ReceiveQueue> srq_;
  std::unique_ptr<QueuePair> pair_;
  LaneOffer lane_;
};

void run(FuzzInput& input) {
  const auto fabric = must(open_loop_fabric());
  const auto arena = must(Arena::create(*fabric, kArena));
  const auto poller = must(Poller::create(*fabric, *arena));
  RdmaLaneOptions options;
  const uint8_t first = input.next();
  options.out = {Leg(first % kLegCount), Leg::kWriteRndv, 8, 256};
  options.in = {Leg(input.next() % kLegCount), Leg::kReadRndv, 8, 256};
  options.fetch.empty_polls_max = options.bitmap.empty_polls_max = 4;
  {
    Hostile hostile(input);
    Owner owner;
    const auto lane = must(RdmaLane::create(*poller, options, owner));
    owner.lane = lane.get();
    (void)lane->connect(first < 192 ? hostile.offer() : hostile.false_offer());
    hostile.connect(lane->offer());
    const std::vector<std::byte> payload(1000, std::byte{1});
    for (int turns = 0; turns < 400 && (!input.empty() || turns < 20); ++turns) {
      if (!input.empty()) hostile.act();
      hostile.iterate();
      if (turns % 8 == 0) {
        lane->send(
            {.kind = FrameKind::kCall, .flags = kLastPiece, .replies = 1, .stream = 1, .call = 1},
            {Bytes(payload).first(turns % 16 == 0 ? 100 : 1000)});
      }
      lane->flush();
      while (const auto event = fabric->next_event()) poller->on_event(*event);
      poller->poll();
    }
  }
  for (const Purpose part : {Purpose::kReceive, Purpose::kSend}) {
    if (arena->free_bytes(part) != arena->bytes(part)) std::abort();
  }
}

}  // namespace
}  // namespace hat::engine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hat::FuzzInput input(data, size);
  hat::engine::run(input);
  return 0;
}
