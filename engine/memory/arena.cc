#include "engine/memory/arena.h"

#include <utility>

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
  part.granules.give_back(offset / Arena::kGranuleBytes, granules_of(bytes_.size()));
  arena_ = nullptr;
}

Result<std::unique_ptr<Arena>> Arena::create(Fabric& fabric, const ArenaOptions& options) {
  auto arena = std::make_unique<Arena>();
  for (size_t i = 0; i < kPurposes; ++i) {
    const size_t granules = granules_of(options.bytes[i]);
    HAT_TRY(SharedMemory memory, SharedMemory::create(kParts[i].name, granules * kGranuleBytes));
    HAT_TRY(auto region, fabric.register_memory(memory, kParts[i].access));
    arena->parts_[i] =
        std::make_unique<Part>(Part{std::move(memory), std::move(region), Buddy(granules)});
  }
  return arena;
}

std::optional<Buffer> Arena::take(Purpose purpose, size_t bytes) {
  Part& part = *parts_[static_cast<size_t>(purpose)];
  const auto first = part.granules.take(granules_of(bytes));
  if (!first) return std::nullopt;
  Buffer buffer;
  buffer.arena_ = this;
  buffer.purpose_ = purpose;
  buffer.bytes_ = part.memory.bytes().subspan(*first * kGranuleBytes, bytes);
  buffer.lkey_ = part.region->lkey();
  buffer.rkey_ = part.region->rkey();
  return buffer;
}

size_t Arena::free_bytes(Purpose purpose) const {
  return parts_[static_cast<size_t>(purpose)]->granules.free_count() * kGranuleBytes;
}

size_t Arena::bytes(Purpose purpose) const {
  return parts_[static_cast<size_t>(purpose)]->granules.count() * kGranuleBytes;
}

}  // namespace hat::engine
