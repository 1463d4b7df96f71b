// SPDX-License-Identifier: Apache-2.0
// engine/memory/arena.h: the memory in which a worker's RDMA moves messages: registered once and
// divided on demand, so that no call registers memory.
//
// An arena has three parts, each a memory region of its own. So no part can use up another's memory
// (if sends and receives share a pool, they deadlock: nothing can be sent until something is
// received), and other hosts have access to no more than they need:
//
//   kReceive  other hosts WRITE here        windows, rendezvous targets
//   kSend     other hosts READ here         slots, rendezvous sources, bitmaps
//   kControl  no other host has access      receives of a queue, targets of small READs
//
// A share of kReceive and kSend is reserved for messages. Lanes hold their windows and slots for
// long; because of the reserve they never leave a message without a block that is large enough.
//
// A part is handed out in granules of kGranuleBytes by the buddy method: in blocks of powers of
// two, aligned to their size. The unused rest of a block is given back at once.
//
// When another host WRITES a message, this host relies on that host's statement that it has written
// every byte. So a target must not contain bytes of other peers: each granule of the messages'
// share records its last owner, and is cleared when another owner gets it.
//
// Bounds   a request must fit into one free block of its share of the part (the messages' share for
//          take_message() and take_target(), the rest for take()); alignment 4 KiB.
// Owner    a Buffer gives itself back; the arena outlives all of its buffers.
// Thread   one.
// Errors   create() says which limit is too low; take() returns nullopt if the part has no space.
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

// A piece of one part of an arena.
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
  // The share reserved for messages, of kReceive and kSend: a power of two; 0 means the largest
  // below the part's size.
  std::array<size_t, 2> messages{};
  size_t total() const { return bytes[0] + bytes[1] + bytes[2]; }
};

class Arena {
 public:
  static constexpr size_t kGranuleBytes = 4096;

  static Result<std::unique_ptr<Arena>> create(Fabric& fabric, const ArenaOptions& options);

  std::optional<Buffer> take(Purpose purpose, size_t bytes);
  std::optional<Buffer> take_message(Purpose purpose, size_t bytes);  // for kReceive or kSend
  // Takes a buffer of kReceive for a message that `owner` will WRITE. The buffer contains zeroes,
  // or bytes that the same owner wrote before.
  std::optional<Buffer> take_target(size_t bytes, uint32_t owner);
  uint32_t new_owner() { return ++last_owner_; }
  size_t free_bytes(Purpose purpose) const;  // including the messages' share
  size_t bytes(Purpose purpose) const;
  // Returns a size for which there is always space once the other messages are done.
  size_t message_bytes_max(Purpose purpose) const;

 private:
  friend class Buffer;
  struct Part {
    SharedMemory memory;
    std::unique_ptr<MemoryRegion> region;
    Buddy messages;                // the first granules of the part
    std::vector<uint32_t> owners;  // the last owner of each of them; 0: never used
    Buddy others;
  };
  std::optional<Buffer> take(Purpose purpose, bool message, size_t bytes);

  std::array<std::unique_ptr<Part>, kPurposes> parts_;
  uint32_t last_owner_ = 0;
};

}  // namespace hat::engine
