// SPDX-License-Identifier: Apache-2.0
// engine/memory/arena_test.cc: tests the buddy allocator, arenas, and borrowed ranges.
#include "engine/memory/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/memory/borrowed_range.h"

namespace hat::engine {
namespace {

TEST(Buddy, TakesWhatIsAskedAndNoMore) {
  Buddy buddy(100);
  EXPECT_EQ(buddy.free_count(), 100u);
  const auto run = buddy.take(33);
  ASSERT_TRUE(run);
  EXPECT_EQ(buddy.free_count(), 67u);
  EXPECT_FALSE(buddy.take(0));
  EXPECT_FALSE(buddy.take(68));
  buddy.give_back(*run, 33);
  EXPECT_EQ(buddy.free_count(), 100u);
  EXPECT_TRUE(buddy.take(64)) << "what was given back is one block again";
}

TEST(BuddyDeathTest, ARunIsGivenBackOnce) {
  Buddy buddy(100);
  const size_t first = buddy.take(8).value();
  const size_t second = buddy.take(8).value();
  buddy.give_back(first, 8);
  EXPECT_DEATH(buddy.give_back(first, 8), "a run was given back twice");
  EXPECT_DEATH(buddy.give_back(second, 100), "Check failed");
  buddy.give_back(second, 8);
}

TEST(Buddy, RunsNeverOverlapAndAllComeBack) {
  constexpr size_t kGranules = 1000;
  Buddy buddy(kGranules);
  std::map<size_t, size_t> taken;  // by the first granule of a run: the run's length
  std::minstd_rand random(3);
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0 || taken.empty()) {
      const size_t count = 1 + random() % (random() % 8 == 0 ? 200 : 12);
      const auto first = buddy.take(count);
      if (!first) continue;
      ASSERT_LE(*first + count, kGranules);
      const auto next = taken.lower_bound(*first);
      if (next != taken.end()) {
        ASSERT_LE(*first + count, next->first);
      }
      if (next != taken.begin()) {
        const auto before = std::prev(next);
        ASSERT_LE(before->first + before->second, *first);
      }
      taken[*first] = count;
    } else {
      auto one = taken.begin();
      std::advance(one, random() % taken.size());
      buddy.give_back(one->first, one->second);
      taken.erase(one);
    }
  }
  for (const auto& [first, count] : taken) buddy.give_back(first, count);
  EXPECT_EQ(buddy.free_count(), kGranules);
  // 1000 granules consist of aligned blocks of 512 + 256 + 128 + 64 + 32 + 8 granules.
  for (const size_t count : {512u, 256u, 128u, 64u, 32u, 8u})
    EXPECT_TRUE(buddy.take(count)) << count;
  EXPECT_EQ(buddy.free_count(), 0u);
}

TEST(Arena, NoPartStarvesAnother) {
  auto fabric = *open_loop_fabric();
  auto arena = *Arena::create(
      *fabric, {.bytes = {96 << 10, 64 << 10, 8 << 10}, .messages = {32 << 10, 32 << 10}});
  std::vector<Buffer> taken;
  while (auto buffer = arena->take(Purpose::kReceive, 5000)) taken.push_back(std::move(*buffer));
  EXPECT_EQ(taken.size(), 8u) << "of 16 granules, two for each";
  EXPECT_FALSE(arena->take(Purpose::kReceive, 1));
  EXPECT_TRUE(arena->take(Purpose::kSend, 32 << 10));
  EXPECT_TRUE(arena->take(Purpose::kControl, 8 << 10));
  EXPECT_EQ(arena->message_bytes_max(Purpose::kReceive), size_t{32 << 10});
  EXPECT_TRUE(arena->take_message(Purpose::kReceive, 32 << 10)) << "lanes leave that alone";
  taken.clear();
  const auto whole = arena->take(Purpose::kReceive, 64 << 10);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->bytes().size(), size_t{64 << 10});
}

TEST(Arena, ANumaNodeThatTheKernelRefusesIsAnError) {
  auto fabric = *open_loop_fabric();
  const auto arena =
      Arena::create(*fabric, {.bytes = {64 << 10, 64 << 10, 4 << 10}, .numa_node = 1023});
  ASSERT_FALSE(arena);
  EXPECT_NE(arena.error().message.find("cannot request memory on NUMA node 1023"),
            std::string::npos)
      << arena.error().message;
}

TEST(Arena, BuffersGiveThemselvesBackOnce) {
  auto fabric = *open_loop_fabric();
  auto arena = *Arena::create(*fabric, {.bytes = {64 << 10, 64 << 10, 4 << 10}});
  Buffer kept;
  {
    auto buffer = *arena->take(Purpose::kSend, 100);
    kept = std::move(buffer);
    EXPECT_FALSE(buffer);  // NOLINT: moved from on purpose
  }
  EXPECT_EQ(arena->free_bytes(Purpose::kSend), size_t{60 << 10});
  kept.give_back();
  kept.give_back();
  EXPECT_EQ(arena->free_bytes(Purpose::kSend), size_t{64 << 10});
}

TEST(Arena, TargetsHoldNothingOfOtherOwners) {
  constexpr size_t kBytes = 3 * Arena::kGranuleBytes;
  auto fabric = *open_loop_fabric();
  auto arena = *Arena::create(*fabric, {.bytes = {32 << 10, 4 << 10, 4 << 10}});
  const auto holds = [](const Buffer& buffer, std::byte byte) {
    return std::ranges::count(buffer.bytes(), byte) == std::ssize(buffer.bytes());
  };
  const uint32_t one = arena->new_owner(), two = arena->new_owner();
  const auto write_all = [&](uint32_t owner, std::byte byte) {
    const auto buffer = *arena->take_target(kBytes, owner);
    std::ranges::fill(buffer.bytes(), byte);
  };
  EXPECT_TRUE(holds(*arena->take_target(kBytes, one), std::byte{0})) << "as it was made";
  write_all(one, std::byte{1});
  EXPECT_TRUE(holds(*arena->take_target(kBytes, one), std::byte{1})) << "its own: for nothing";
  EXPECT_TRUE(holds(*arena->take_target(kBytes - 100, two), std::byte{0}));
  write_all(two, std::byte{2});
  EXPECT_TRUE(holds(*arena->take_target(kBytes, one), std::byte{0}));
  EXPECT_TRUE(holds(*arena->take_target(kBytes, two), std::byte{0}));
}

TEST(BorrowedRange, IsInsideItsRegion) {
  const auto fabric = *open_loop_fabric();
  const SharedMemory memory = *SharedMemory::create("one", 8192);
  const auto region = *fabric->register_memory(memory, {.read = true});
  const BorrowedRange range = range_of(*region, memory.bytes().subspan(100, 50));
  EXPECT_EQ(range.segment.data, memory.bytes().data() + 100);
  EXPECT_EQ(range.segment.bytes, 50u);
  EXPECT_EQ(range.segment.lkey, region->lkey());
  EXPECT_EQ(range.rkey, region->rkey());
}

TEST(BorrowedRangeDeathTest, AssertsThatItIsInsideItsRegion) {
  const auto fabric = *open_loop_fabric();
  const SharedMemory memory = *SharedMemory::create("one", 8192);
  const auto region = *fabric->register_memory(memory, {.read = true});
  const std::span<std::byte> over(memory.bytes().data() + 100, 8192);
  EXPECT_DEATH(range_of(*region, over), "not inside the region");
}

}  // namespace
}  // namespace hat::engine
