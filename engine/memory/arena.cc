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
  arena_ = std::exchange(other.arena_, nullptr);
  purpose_ = other.purpose_;
  bytes_ = other.bytes_;
  lkey_ = other.lkey_;
  rkey_ = other.rkey_;
  return *this;
}

void Buffer::give_back() {
  if (arena_ == nullptr) return;
  Arena::Part& part = *arena_->parts_[static_cast<size_t>(purpose_)];
  const auto offset = static_cast<size_t>(bytes_.data() - part.memory.bytes().data());
  const size_t first = offset / Arena::kGranuleBytes;
  const size_t messages = part.messages.count();
  if (first < messages) {
    part.messages.give_back(first, granules_of(bytes_.size()));
  } else {
    part.others.give_back(first - messages, granules_of(bytes_.size()));
  }
  arena_ = nullptr;
}

Result<std::unique_ptr<Arena>> Arena::create(Fabric& fabric, const ArenaOptions& options) {
  auto arena = std::make_unique<Arena>();
  for (size_t i = 0; i < kPurposes; ++i) {
    const size_t granules = std::max<size_t>(granules_of(options.bytes[i]), 2);
    size_t messages = 0;
    if (i < options.messages.size()) {
      messages = options.messages[i] == 0 ? std::bit_floor(granules - 1)
                                          : std::bit_ceil(granules_of(options.messages[i]));
    }
    if (messages >= granules)
      return fail(ErrorCode::kExhausted,
                  "RDMA memory: the part for large messages leaves nothing for lanes; raise "
                  "fabric.max_pinned");
    HAT_TRY(SharedMemory memory, SharedMemory::create(kParts[i].name, granules * kGranuleBytes));
    // Before the registration, which takes all pages and pins them.
    if (options.numa_node) {
      HAT_TRY_VOID(prefer_numa_node(memory.bytes(), *options.numa_node));
    }
    HAT_TRY(auto region, fabric.register_memory(memory, kParts[i].access));
    arena->parts_[i] =
        std::make_unique<Part>(Part{std::move(memory), std::move(region), Buddy(messages),
                                    std::vector<uint32_t>(messages), Buddy(granules - messages)});
  }
  return arena;
}

std::optional<Buffer> Arena::take(Purpose purpose, size_t bytes) {
  return take(purpose, false, bytes);
}

std::optional<Buffer> Arena::take_message(Purpose purpose, size_t bytes) {
  return take(purpose, true, bytes);
}

std::optional<Buffer> Arena::take_target(size_t bytes, uint32_t owner) {
  auto buffer = take_message(Purpose::kReceive, bytes);
  if (!buffer) return std::nullopt;
  Part& part = *parts_[static_cast<size_t>(Purpose::kReceive)];
  const auto offset = static_cast<size_t>(buffer->bytes().data() - part.memory.bytes().data());
  const size_t first = offset / kGranuleBytes;
  for (size_t i = first; i < first + granules_of(bytes); ++i) {
    if (std::exchange(part.owners[i], owner) == owner) continue;
    std::ranges::fill(part.memory.bytes().subspan(i * kGranuleBytes, kGranuleBytes), std::byte{0});
  }
  return buffer;
}

std::optional<Buffer> Arena::take(Purpose purpose, bool message, size_t bytes) {
  Part& part = *parts_[static_cast<size_t>(purpose)];
  Buddy& granules = message ? part.messages : part.others;
  const auto first = granules.take(granules_of(bytes));
  if (!first) return std::nullopt;
  const size_t before = message ? 0 : part.messages.count();
  Buffer buffer;
  buffer.arena_ = this;
  buffer.purpose_ = purpose;
  buffer.bytes_ = part.memory.bytes().subspan((before + *first) * kGranuleBytes, bytes);
  buffer.lkey_ = part.region->lkey();
  buffer.rkey_ = part.region->rkey();
  return buffer;
}

size_t Arena::free_bytes(Purpose purpose) const {
  const Part& part = *parts_[static_cast<size_t>(purpose)];
  return (part.messages.free_count() + part.others.free_count()) * kGranuleBytes;
}

size_t Arena::bytes(Purpose purpose) const {
  const Part& part = *parts_[static_cast<size_t>(purpose)];
  return (part.messages.count() + part.others.count()) * kGranuleBytes;
}

size_t Arena::message_bytes_max(Purpose purpose) const {
  return parts_[static_cast<size_t>(purpose)]->messages.count() * kGranuleBytes;
}

}  // namespace hat::engine
