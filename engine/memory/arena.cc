// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/arena.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/cores.h"

namespace hat::engine {
namespace {

struct PartKind {
  const char* name;
  RemoteAccess access;
};

constexpr std::array<PartKind, kPurposes> kParts = {{
    {"hatrpc-receive", {.write = true}},
    {"hatrpc-send", {.read = true}},
    {"hatrpc-control", {}},
}};

size_t granules_of(size_t bytes) {
  return (bytes + Arena::kGranuleBytes - 1) / Arena::kGranuleBytes;
}

}  // namespace

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  chunk_ = std::exchange(other.chunk_, nullptr);
  bytes_ = other.bytes_;
  lkey_ = other.lkey_;
  rkey_ = other.rkey_;
  return *this;
}

void Buffer::give_back() {
  if (chunk_ == nullptr) return;
  const auto offset = static_cast<size_t>(bytes_.data() - chunk_->memory.bytes().data());
  chunk_->granules.give_back(offset / Arena::kGranuleBytes, granules_of(bytes_.size()));
  chunk_ = nullptr;
}

Arena::Arena(Fabric& fabric, const ArenaOptions& options, std::shared_ptr<RdmaBudget> budget)
    : fabric_(fabric),
      step_(granules_of(options.step)),
      numa_node_(options.numa_node),
      budget_(std::move(budget)) {}

Result<std::unique_ptr<Arena>> Arena::create(Fabric& fabric, const ArenaOptions& options,
                                             std::shared_ptr<RdmaBudget> budget) {
  std::unique_ptr<Arena> arena(new Arena(fabric, options, std::move(budget)));
  for (size_t i = 0; i < kPurposes; ++i) {
    const size_t granules = std::max<size_t>(granules_of(options.bytes[i]), 2);
    size_t messages = 0;
    if (i < options.messages.size()) {
      messages = options.messages[i] == 0 ? std::bit_floor(granules - 1)
                                          : std::bit_ceil(granules_of(options.messages[i]));
      arena->shares_[kMessages + i].purpose = static_cast<Purpose>(i);
      arena->shares_[kMessages + i].granules_max = messages;
    }
    if (messages >= granules)
      return fail(ErrorCode::kExhausted,
                  "RDMA memory: the part for large messages leaves nothing for lanes; raise "
                  "fabric.max_pinned");
    arena->shares_[i].purpose = static_cast<Purpose>(i);
    arena->shares_[i].granules_max = granules - messages;
  }
  for (Share& share : arena->shares_) {
    HAT_TRY_VOID(arena->grow(share, arena->next_chunk(share, 0, 1)));
  }
  return arena;
}

// Returns the size of the next chunk of the share, if its other chunks have `granules` granules. A
// block for `fit` granules must fit into the chunk; returns 0 if the share has no space for that.
size_t Arena::next_chunk(const Share& share, size_t granules, size_t fit) const {
  const size_t left = share.granules_max - granules;
  const size_t block = std::bit_ceil(fit);
  const size_t count = step_ == 0 ? left : std::min(left, std::max({step_, granules, block}));
  return std::bit_floor(count) >= block ? count : 0;
}

Result<void> Arena::grow(Share& share, size_t count) {
  const PartKind& kind = kParts[static_cast<size_t>(share.purpose)];
  RdmaBudget::Charge charge(budget_, Resource::kMemory);
  HAT_TRY_VOID(charge.add(count * kGranuleBytes));
  HAT_TRY(SharedMemory memory, SharedMemory::create(kind.name, count * kGranuleBytes));
  // Before the registration, which takes all pages and pins them.
  if (numa_node_) HAT_TRY_VOID(prefer_numa_node(memory.bytes(), *numa_node_));
  HAT_TRY(auto region, fabric_.register_memory(memory, kind.access));
  if (!fabric_.limits().passes_descriptors) memory.close_descriptor();
  share.chunks.push_back(std::make_unique<ArenaChunk>(
      ArenaChunk{std::move(charge), std::move(memory), std::move(region), Buddy(count),
                 std::vector<uint32_t>(count)}));
  share.granules += count;
  return {};
}

// Adds a chunk of `count` granules, or, if that is refused, a chunk of only `least` granules.
Result<void> Arena::grow_or_less(Share& share, size_t count, size_t least) {
  auto grown = grow(share, count);
  return grown || count <= least ? grown : grow(share, least);
}

// Adds a chunk into which a buffer of `bytes` bytes fits. If the share has no space for the chunk,
// the chunks without buffers make room for it. Returns false if that is not enough, or if the
// fabric refuses the chunk.
bool Arena::grow_for(Share& share, size_t bytes) {
  const auto is_free = [](const auto& chunk) {
    return chunk->granules.free_count() == chunk->granules.count();
  };
  share.why_not_grown.clear();
  size_t count = next_chunk(share, share.granules, granules_of(bytes));
  size_t freed = 0;
  if (count == 0) {
    for (const auto& chunk : share.chunks) freed += is_free(chunk) ? chunk->granules.count() : 0;
    count = next_chunk(share, share.granules - freed, granules_of(bytes));
    if (count == 0) return false;
    std::erase_if(share.chunks, is_free);
    share.granules -= freed;
  }
  const size_t least = std::max(step_, std::bit_ceil(granules_of(bytes)));
  const auto grown = grow_or_less(share, count, std::min(count, least));
  if (grown) return true;
  share.why_not_grown = grown.error().message;
  // Smaller messages need the memory that the share had. If the fabric refuses even a part of it,
  // the next attempt is made after forget_refusals().
  if (freed != 0) static_cast<void>(grow_or_less(share, freed, std::min(freed, step_)));
  return false;
}

std::optional<Buffer> Arena::take(Purpose purpose, size_t bytes) {
  Share& share = shares_[static_cast<size_t>(purpose)];
  auto buffer = take(share, bytes);
  if (buffer || !grow_for(share, bytes)) return buffer;
  return take(share, bytes);
}

std::optional<Buffer> Arena::take_message(Purpose purpose, size_t bytes) {
  Share& share = shares_[kMessages + static_cast<size_t>(purpose)];
  auto buffer = take(share, bytes);
  if (buffer || !share.why_not_grown.empty() || !grow_for(share, bytes)) return buffer;
  return take(share, bytes);
}

void Arena::forget_refusals() {
  for (Share& share : shares_) share.why_not_grown.clear();
}

std::optional<Buffer> Arena::take_target(size_t bytes, uint32_t owner) {
  auto buffer = take_message(Purpose::kReceive, bytes);
  if (!buffer) return std::nullopt;
  ArenaChunk& chunk = *buffer->chunk_;
  const auto offset = static_cast<size_t>(buffer->bytes().data() - chunk.memory.bytes().data());
  const size_t first = offset / kGranuleBytes;
  for (size_t i = first; i < first + granules_of(bytes); ++i) {
    if (std::exchange(chunk.owners[i], owner) == owner) continue;
    std::ranges::fill(chunk.memory.bytes().subspan(i * kGranuleBytes, kGranuleBytes), std::byte{0});
  }
  return buffer;
}

std::optional<Buffer> Arena::take(const Share& share, size_t bytes) {
  for (const auto& chunk : share.chunks) {
    if (auto buffer = take(*chunk, bytes)) return buffer;
  }
  return std::nullopt;
}

std::optional<Buffer> Arena::take(ArenaChunk& chunk, size_t bytes) {
  const auto first = chunk.granules.take(granules_of(bytes));
  if (!first) return std::nullopt;
  Buffer buffer;
  buffer.chunk_ = &chunk;
  buffer.bytes_ = chunk.memory.bytes().subspan(*first * kGranuleBytes, bytes);
  buffer.lkey_ = chunk.region->lkey();
  buffer.rkey_ = chunk.region->rkey();
  return buffer;
}

size_t Arena::free_bytes(Purpose purpose) const {
  size_t granules = 0;
  for (const Share& share : shares_) {
    if (share.purpose != purpose) continue;
    granules += share.granules_max - share.granules;
    for (const auto& chunk : share.chunks) granules += chunk->granules.free_count();
  }
  return granules * kGranuleBytes;
}

size_t Arena::bytes(Purpose purpose) const {
  size_t granules = 0;
  for (const Share& share : shares_) granules += share.purpose == purpose ? share.granules_max : 0;
  return granules * kGranuleBytes;
}

size_t Arena::registered_bytes() const {
  size_t granules = 0;
  for (const Share& share : shares_) granules += share.granules;
  return granules * kGranuleBytes;
}

size_t Arena::message_bytes_max(Purpose purpose) const {
  const Share& share = messages(purpose);
  if (share.why_not_grown.empty()) return share.granules_max * kGranuleBytes;
  size_t largest = 0;
  for (const auto& chunk : share.chunks) largest = std::max(largest, chunk->granules.count());
  return std::bit_floor(largest) * kGranuleBytes;
}

}  // namespace hat::engine
