// SPDX-License-Identifier: Apache-2.0
// engine/memory/arena.h: the memory that a worker's RDMA moves messages in: registered once, cut up
// on demand, so that no call registers anything.
//
// It has three parts, each a region of its own, so that neither can starve another (a pool that
// sends and receives share deadlocks: nothing can be sent until something is received), and so that
// other hosts reach no more than they must:
//
//   kReceive  other hosts WRITE there        windows, rendezvous targets
//   kSend     other hosts READ there         slots, rendezvous sources, bitmaps
//   kControl  nobody else does               receives of a queue, targets of small READs
//
// Of the first two a share is kept for messages alone, so that lanes, which hold their windows and
// slots for long, never leave a message without a block that is large enough.
//
// A part is handed out in granules of kGranuleBytes by the buddy method: blocks of powers of two,
// aligned to their size; what a request does not need of its block is given back at once.
//
// What another host WRITES as its message is delivered on its word that it has written all of it.
// So a target holds no bytes of others: each granule of the messages' part knows whose it was last,
// and is cleared when somebody else gets it.
//
// Bounds   a request of at most the part's size; alignment 4 KiB.
// Owner    a Buffer gives itself back; the arena outlives all of them.
// Thread   one.
// Errors   create() says which limit is too low; take() returns none where the part has no room.
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

// A piece of one part.
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
  // Of them, for messages (kReceive, kSend): a power of two; 0: the largest below the part's size.
  std::array<size_t, 2> messages{};
  size_t total() const { return bytes[0] + bytes[1] + bytes[2]; }
};

class Arena {
 public:
  static constexpr size_t kGranuleBytes = 4096;

  static Result<std::unique_ptr<Arena>> create(Fabric& fabric, const ArenaOptions& options);

  std::optional<Buffer> take(Purpose purpose, size_t bytes);
  std::optional<Buffer> take_message(Purpose purpose, size_t bytes);  // kReceive, kSend
  // Of kReceive, for a message that `owner` will WRITE: zeroes, or what that owner had WRITTEN
  // before.
  std::optional<Buffer> take_target(size_t bytes, uint32_t owner);
  uint32_t new_owner() { return ++last_owner_; }
  size_t free_bytes(Purpose purpose) const;  // for messages, too
  size_t bytes(Purpose purpose) const;
  // There is always room for one of this size, as soon as other messages are done.
  size_t message_bytes_max(Purpose purpose) const;

 private:
  friend class Buffer;
  struct Part {
    SharedMemory memory;
    std::unique_ptr<MemoryRegion> region;
    Buddy messages;                // the first granules
    std::vector<uint32_t> owners;  // of each of these, the last; 0: it is as it was made
    Buddy others;
  };
  std::optional<Buffer> take(Purpose purpose, bool message, size_t bytes);

  std::array<std::unique_ptr<Part>, kPurposes> parts_;
  uint32_t last_owner_ = 0;
};

}  // namespace hat::engine
