// SPDX-License-Identifier: Apache-2.0
#include "bench/dds/hash_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "bench/dds/patience.h"

namespace hat::bench {
namespace {

constexpr uint64_t kFree = 0;
constexpr uint64_t kWriting = 1;
constexpr uint64_t kReady = 2;
constexpr uint64_t kReader = 1 << 8;

uint64_t state_of(uint64_t flag) { return flag % kReader; }

uint64_t first_bucket(uint64_t key, uint64_t buckets) {
  return XXH3_64bits(&key, sizeof key) % buckets;
}

uint64_t word_at(const std::byte* from) {
  uint64_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void write_word(std::byte* to, uint64_t value) { std::memcpy(to, &value, sizeof value); }

}  // namespace

RemoteTable::BucketAddress RemoteTable::address(uint64_t index) const {
  return {*owners_[index / shape_.buckets],
          shape_.offset + index % shape_.buckets * shape_.bucket_bytes()};
}

Outcome RemoteTable::insert(uint64_t key, std::span<const std::byte> value, Level level) {
  const uint64_t first = first_bucket(key, count());
  for (uint64_t probe = 0; probe < count(); ++probe) {
    const BucketAddress here = address((first + probe) % count());
    const Bucket bucket =
        level == Level::kWrite ? insert_alone(here, key, value) : insert_shared(here, key, value);
    if (bucket == Bucket::kMine) return Outcome::kDone;
    if (bucket == Bucket::kLost) return Outcome::kLost;
  }
  return Outcome::kFull;
}

Outcome RemoteTable::find(uint64_t key, std::span<std::byte> value, Level level) {
  const uint64_t first = first_bucket(key, count());
  for (uint64_t probe = 0; probe < count(); ++probe) {
    const BucketAddress here = address((first + probe) % count());
    const Bucket bucket =
        level == Level::kRead ? find_alone(here, key, value) : find_shared(here, key, value);
    if (bucket == Bucket::kMine) return Outcome::kDone;
    if (bucket == Bucket::kFree) return Outcome::kMissing;
    if (bucket == Bucket::kLost) return Outcome::kLost;
  }
  return Outcome::kMissing;
}

bool RemoteTable::put_entry(const BucketAddress& address, uint64_t key,
                            std::span<const std::byte> value) {
  std::byte* entry = address.owner.local().data();
  write_word(entry, key);
  std::ranges::copy(value.first(shape_.value_bytes), entry + sizeof key);
  return address.owner
      .put(address.offset + TableShape::kKeyAt, shape_.bucket_bytes() - TableShape::kKeyAt)
      .has_value();
}

RemoteTable::Bucket RemoteTable::take_entry(const std::byte* entry, uint64_t key,
                                            std::span<std::byte> value) const {
  if (word_at(entry) != key) return Bucket::kOfAnother;
  std::copy_n(entry + sizeof key, shape_.value_bytes, value.begin());
  return Bucket::kMine;
}

RemoteTable::Bucket RemoteTable::insert_alone(const BucketAddress& address, uint64_t key,
                                              std::span<const std::byte> value) {
  const auto before = address.owner.compare_swap(address.offset, kFree, kReady);
  if (!before) return Bucket::kLost;
  if (*before != kFree) return Bucket::kOfAnother;
  return put_entry(address, key, value) ? Bucket::kMine : Bucket::kLost;
}

RemoteTable::Bucket RemoteTable::insert_shared(const BucketAddress& address, uint64_t key,
                                               std::span<const std::byte> value) {
  uint64_t expected = kFree;
  for (Patience patience; patience.again();) {
    const auto before = address.owner.compare_swap(address.offset, expected, kWriting);
    if (!before) return Bucket::kLost;
    if (*before == expected) {
      const bool put = put_entry(address, key, value);
      const bool is_reported = put && address.owner.fetch_add(address.offset, kReady - kWriting);
      return is_reported ? Bucket::kMine : Bucket::kLost;
    }
    // Try again if a writer or readers hold the bucket. If the bucket is ready, read and compare
    // its key, but only once, because the key of a ready bucket never changes.
    if (state_of(*before) != kReady || expected == kReady) continue;
    if (!address.owner.get(address.offset + TableShape::kKeyAt, sizeof key)) return Bucket::kLost;
    if (word_at(address.owner.local().data()) != key) return Bucket::kOfAnother;
    expected = kReady;
  }
  return Bucket::kLost;
}

RemoteTable::Bucket RemoteTable::find_alone(const BucketAddress& address, uint64_t key,
                                            std::span<std::byte> value) {
  if (!address.owner.get(address.offset, shape_.bucket_bytes())) return Bucket::kLost;
  const std::byte* bucket = address.owner.local().data();
  if (state_of(word_at(bucket)) == kFree) return Bucket::kFree;
  return take_entry(bucket + TableShape::kKeyAt, key, value);
}

// Finds a key while other clients write. First increments the bucket's number of readers, and then
// waits until the bucket's current writer has finished. The next writer sees the number and waits.
RemoteTable::Bucket RemoteTable::find_shared(const BucketAddress& address, uint64_t key,
                                             std::span<std::byte> value) {
  const auto before = address.owner.fetch_add(address.offset, kReader);
  if (!before) return Bucket::kLost;
  uint64_t flag = *before;
  for (Patience patience; state_of(flag) == kWriting;) {
    if (!patience.again() || !address.owner.get(address.offset, sizeof flag)) return Bucket::kLost;
    flag = word_at(address.owner.local().data());
  }
  Bucket found = Bucket::kFree;
  if (state_of(flag) == kReady) {
    const size_t bytes = shape_.bucket_bytes() - TableShape::kKeyAt;
    if (!address.owner.get(address.offset + TableShape::kKeyAt, bytes)) return Bucket::kLost;
    found = take_entry(address.owner.local().data(), key, value);
  }
  return address.owner.fetch_add(address.offset, 0 - kReader) ? found : Bucket::kLost;
}

// --- The owner's local access ---

std::byte* LocalTable::bucket(uint64_t index) const {
  return memory_.data() + shape_.offset + index % shape_.buckets * shape_.bucket_bytes();
}

void LocalTable::clear() {
  std::ranges::fill(memory_.subspan(shape_.offset, shape_.bytes()), std::byte{0});
}

Outcome LocalTable::insert(uint64_t key, std::span<const std::byte> value) {
  const uint64_t first = first_bucket(key, shape_.buckets);
  for (uint64_t probe = 0; probe < shape_.buckets; ++probe) {
    std::byte* here = bucket(first + probe);
    const bool is_free = word_at(here) == kFree;
    if (!is_free && word_at(here + TableShape::kKeyAt) != key) continue;
    write_word(here, kReady);
    write_word(here + TableShape::kKeyAt, key);
    std::ranges::copy(value.first(shape_.value_bytes), here + TableShape::kValueAt);
    return Outcome::kDone;
  }
  return Outcome::kFull;
}

Outcome LocalTable::find(uint64_t key, std::span<std::byte> value) const {
  const uint64_t first = first_bucket(key, shape_.buckets);
  for (uint64_t probe = 0; probe < shape_.buckets; ++probe) {
    const std::byte* here = bucket(first + probe);
    if (word_at(here) == kFree) return Outcome::kMissing;
    if (word_at(here + TableShape::kKeyAt) != key) continue;
    std::copy_n(here + TableShape::kValueAt, shape_.value_bytes, value.begin());
    return Outcome::kDone;
  }
  return Outcome::kMissing;
}

bool LocalTable::entries(std::vector<Entry>& into) const {
  for (uint64_t i = 0; i < shape_.buckets; ++i) {
    const std::byte* here = bucket(i);
    if (word_at(here) == kFree) continue;
    if (word_at(here) != kReady) return false;
    into.push_back(
        {word_at(here + TableShape::kKeyAt), {here + TableShape::kValueAt, shape_.value_bytes}});
  }
  return true;
}

}  // namespace hat::bench
