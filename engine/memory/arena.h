// SPDX-License-Identifier: Apache-2.0
// engine/memory/arena.h: the memory that the RDMA lanes of one link use for messages. An arena
// registers memory with the RDMA device, keeps it registered, and hands out buffers from it on
// demand, so that in steady state no Thrift call has to register memory.
//
// An arena has three parts with memory regions of their own. One part cannot use up the memory of
// another part. (Sends and receives that share one pool can deadlock: a send waits for
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
// The reserved share and the rest of a part consist of chunks, and each chunk is a memory region.
// An arena grows: a share begins with one chunk of ArenaOptions::step bytes, and if a request does
// not fit, it gets another chunk, as large as all chunks before or as the request, up to the size
// of the share. (If such a chunk is refused, a chunk of `step` bytes or as large as the request is
// tried.) So a link pins little memory if its lanes need little, and a share needs few memory
// keys. If the share has no space for such a chunk, the chunks from which no buffer is taken make
// room for it: a message as large as its share fits once all other messages are gone, however the
// share has grown. All other chunks last as long as the arena.
//
// If the fabric refuses a chunk, the share for messages does not ask again before
// forget_refusals(), because a message that waits for memory tries again in every poll.
//
// A chunk is divided into granules of kGranuleBytes. The buddy method hands out blocks of 1, 2, 4,
// … granules, each aligned to its size. The unused rest of a block is given back at once.
//
// A host that WRITEs a message into this host's memory (a "target" buffer) says when it has written
// every byte, and this host cannot check that. The target must therefore not contain old bytes of
// other peers, which the message would otherwise seem to contain. Each granule of the share for
// messages records its last owner, and is cleared when another owner gets the granule.
//
// Bounds   ArenaOptions::bytes, and the RdmaBudget that several arenas share. A request must fit
//          into one free block of the share that it uses: the share for messages (take_message()
//          and take_target()) or the rest (take()). Buffers are aligned to 4 KiB.
// Owner    A Buffer gives its memory back when it is destroyed. The arena must outlive its buffers.
// Thread   One thread at a time; there is no lock.
// Errors   The error of create() says which limit is too low. The take functions return nullopt if
//          the part has no space. After the fabric or the budget has refused another chunk,
//          refusal_text() and message_refusal_text() say why, and the share uses its existing
//          chunks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/fabric/fabric.h"
#include "engine/memory/buddy.h"
#include "engine/memory/budget.h"

namespace hat::engine {

enum class Purpose : uint8_t { kReceive, kSend, kControl };
inline constexpr size_t kPurposes = 3;

// A memory region of an arena, as the class Arena uses it.
struct ArenaChunk {
  RdmaBudget::Charge charge;
  SharedMemory memory;
  std::unique_ptr<MemoryRegion> region;
  Buddy granules;
  std::vector<uint32_t> owners;  // of each granule: the last owner; 0: never used, or no targets
};

// A piece of memory from one part of an arena. Gives the memory back when it is destroyed.
class [[nodiscard]] Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { give_back(); }

  explicit operator bool() const { return chunk_ != nullptr; }
  std::span<std::byte> bytes() const { return bytes_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes_.data()); }
  uint32_t lkey() const { return lkey_; }
  uint32_t rkey() const { return rkey_; }
  void give_back();

 private:
  friend class Arena;
  ArenaChunk* chunk_ = nullptr;
  std::span<std::byte> bytes_;
  uint32_t lkey_ = 0;
  uint32_t rkey_ = 0;
};

struct ArenaOptions {
  std::array<size_t, kPurposes> bytes{};  // of each part, rounded up to whole granules
  // The bytes of kReceive and of kSend that are reserved for messages. Each is rounded up to a
  // power of two; 0 means the largest power of two below the size of the part.
  std::array<size_t, 2> messages{};
  size_t step = 0;  // the bytes with which each share begins; 0: all of its bytes
  // The NUMA node from which the pages come, if it has free memory; nullopt: the node of the core
  // that uses a page first.
  std::optional<int> numa_node{};
  size_t total() const { return bytes[0] + bytes[1] + bytes[2]; }
  // Returns at least the bytes that an arena of these options registers when it is created.
  size_t first_total() const { return step == 0 ? total() : std::min(total(), 5 * step); }
};

class Arena {
 public:
  static constexpr size_t kGranuleBytes = 4096;

  // The number of shares, and so of the regions of an arena that has not grown.
  static constexpr size_t kShares = 5;

  // Creates an arena, and registers its first chunks with `fabric`, which must outlive the arena.
  // All chunks count against `budget`, unless it is null. Fails if the kernel refuses a NUMA node.
  static Result<std::unique_ptr<Arena>> create(Fabric& fabric, const ArenaOptions& options,
                                               std::shared_ptr<RdmaBudget> budget = nullptr);

  // Takes a buffer for a lane from the share that is not reserved for messages.
  std::optional<Buffer> take(Purpose purpose, size_t bytes);
  // Takes a buffer from the share of kReceive or kSend that is reserved for messages.
  std::optional<Buffer> take_message(Purpose purpose, size_t bytes);
  // Takes a buffer of kReceive for a message that the peer `owner` will WRITE. The buffer contains
  // zeroes, or bytes that the same owner wrote before.
  std::optional<Buffer> take_target(size_t bytes, uint32_t owner);
  // Returns a new number that names a peer in take_target().
  uint32_t new_owner() { return ++last_owner_; }
  // Returns how many bytes of the part are free. Includes the bytes of the share for messages, and
  // the bytes by which the part can still grow.
  size_t free_bytes(Purpose purpose) const;
  size_t bytes(Purpose purpose) const;
  size_t registered_bytes() const;
  // Returns the error of the last attempt of the part's share for lanes to grow, as the end of a
  // message: "; more memory was refused: …". Returns an empty text if the attempt succeeded, or if
  // the share cannot grow.
  std::string refusal_text(Purpose purpose) const {
    return text_of(shares_[static_cast<size_t>(purpose)]);
  }
  // Does what refusal_text() does, for the share that is reserved for messages.
  std::string message_refusal_text(Purpose purpose) const { return text_of(messages(purpose)); }
  // Makes take_message() and take_target() ask the fabric again.
  void forget_refusals();
  // Returns the size of the largest message for which there is always space once the buffers of all
  // other messages have been given back. After a refusal, this is what the largest chunk can hold.
  size_t message_bytes_max(Purpose purpose) const;

 private:
  struct Share {
    Purpose purpose{};
    size_t granules_max = 0;
    size_t granules = 0;  // of all chunks
    std::vector<std::unique_ptr<ArenaChunk>> chunks;
    std::string why_not_grown;  // the error of the last attempt; empty: it succeeded
  };
  // Indexes of shares_. The index of a part's share for lanes is its Purpose.
  static constexpr size_t kMessages = kPurposes;  // plus kReceive or kSend
  Arena(Fabric& fabric, const ArenaOptions& options, std::shared_ptr<RdmaBudget> budget);
  const Share& messages(Purpose purpose) const {
    return shares_[kMessages + static_cast<size_t>(purpose)];
  }
  static std::optional<Buffer> take(ArenaChunk& chunk, size_t bytes);
  static std::optional<Buffer> take(const Share& share, size_t bytes);
  static std::string text_of(const Share& share) {
    return share.why_not_grown.empty() ? "" : "; more memory was refused: " + share.why_not_grown;
  }
  size_t next_chunk(const Share& share, size_t granules, size_t fit) const;
  // Adds a chunk of `count` granules to the share.
  Result<void> grow(Share& share, size_t count);
  Result<void> grow_or_less(Share& share, size_t count, size_t least);
  bool grow_for(Share& share, size_t bytes);

  Fabric& fabric_;
  const size_t step_;  // in granules; 0: a share has one chunk
  const std::optional<int> numa_node_;
  const std::shared_ptr<RdmaBudget> budget_;
  std::array<Share, kShares> shares_;
  uint32_t last_owner_ = 0;
};

}  // namespace hat::engine
