// SPDX-License-Identifier: Apache-2.0
// engine/memory/arena.h: the memory that a worker thread uses for messages over RDMA. An arena
// registers its memory with the RDMA device once, and hands out buffers from it on demand, so that
// no Thrift call has to register memory.
//
// An arena has three parts, and each part is a separate memory region. One part cannot use up the
// memory of another part. (Sends and receives that share one pool can deadlock: a send waits for
// memory that is freed only when a message has been received.) Also, other hosts have only the
// access rights that they need:
//
//   kReceive  other hosts WRITE here        windows, rendezvous targets
//   kSend     other hosts READ here         slots, rendezvous sources, bitmaps
//   kControl  no other host has access      receives of a queue, targets of small READs
//
// In kReceive and kSend, a share is reserved for single large messages. The rest serves lanes (RDMA
// connections), which hold their windows and slots for a long time. Because of the reserved share,
// lanes cannot use up the memory that a large message needs.
//
// A part is divided into granules of kGranuleBytes. The buddy method hands out blocks of 1, 2, 4, …
// granules, each aligned to its size. The unused rest of a block is given back at once.
//
// A host that WRITEs a message into this host's memory (a "target" buffer) says when it has written
// every byte, and this host cannot check that. The target must therefore not contain old bytes of
// other peers, which the message would otherwise seem to contain. Each granule of the share for
// messages records its last owner, and is cleared when another owner gets the granule.
//
// Bounds   A request must fit into one free block of the share that it uses: the share for messages
//          (take_message() and take_target()) or the rest (take()). Buffers are aligned to 4 KiB.
// Owner    A Buffer gives its memory back when it is destroyed. The arena must outlive its buffers.
// Thread   One thread at a time; there is no lock.
// Errors   The error of create() says which limit is too low. The take functions return nullopt if
//          the part has no space.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/fabric/fabric.h"
#include "engine/memory/buddy.h"

namespace hat::engine {

enum class Purpose : uint8_t { kReceive, kSend, kControl };
inline constexpr size_t kPurposes = 3;

class Arena;

// A piece of memory from one part of an arena. Gives the memory back when it is destroyed.
class [[nodiscard]] Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { give_back(); }

  explicit operator bool() const { return arena_ != nullptr; }
  std::span<std::byte> bytes() const { return bytes_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes_.data()); }
  uint32_t lkey() const { return lkey_; }
  uint32_t rkey() const { return rkey_; }
  void give_back();

 private:
  friend class Arena;
  Arena* arena_ = nullptr;
  Purpose purpose_{};
  std::span<std::byte> bytes_;
  uint32_t lkey_ = 0;
  uint32_t rkey_ = 0;
};

struct ArenaOptions {
  std::array<size_t, kPurposes> bytes{};  // of each part, rounded up to whole granules
  // The bytes of kReceive and of kSend that are reserved for messages. Each is rounded up to a
  // power of two; 0 means the largest power of two below the size of the part.
  std::array<size_t, 2> messages{};
  // The NUMA node from which the pages come, if it has free memory; nullopt: the node of the core
  // that uses a page first.
  std::optional<int> numa_node{};
  size_t total() const { return bytes[0] + bytes[1] + bytes[2]; }
};

class Arena {
 public:
  static constexpr size_t kGranuleBytes = 4096;

  // Creates an arena, and registers its memory with `fabric`. Fails if the kernel refuses a NUMA
  // node.
  static Result<std::unique_ptr<Arena>> create(Fabric& fabric, const ArenaOptions& options);

  // Takes a buffer for a lane from the share that is not reserved for messages.
  std::optional<Buffer> take(Purpose purpose, size_t bytes);
  // Takes a buffer from the share of kReceive or kSend that is reserved for messages.
  std::optional<Buffer> take_message(Purpose purpose, size_t bytes);
  // Takes a buffer of kReceive for a message that the peer `owner` will WRITE. The buffer contains
  // zeroes, or bytes that the same owner wrote before.
  std::optional<Buffer> take_target(size_t bytes, uint32_t owner);
  // Returns a new number that names a peer in take_target().
  uint32_t new_owner() { return ++last_owner_; }
  size_t free_bytes(Purpose purpose) const;  // includes the free bytes of the share for messages
  size_t bytes(Purpose purpose) const;
  // Returns the size of the largest message for which there is always space once the buffers of all
  // other messages have been given back.
  size_t message_bytes_max(Purpose purpose) const;

 private:
  friend class Buffer;
  struct Part {
    SharedMemory memory;
    std::unique_ptr<MemoryRegion> region;
    Buddy messages;                // the share for messages: the first granules of the part
    std::vector<uint32_t> owners;  // the last owner of each granule in that share; 0: never used
    Buddy others;                  // the remaining granules
  };
  std::optional<Buffer> take(Purpose purpose, bool message, size_t bytes);

  std::array<std::unique_ptr<Part>, kPurposes> parts_;
  uint32_t last_owner_ = 0;
};

}  // namespace hat::engine
