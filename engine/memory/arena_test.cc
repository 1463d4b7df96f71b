// SPDX-License-Identifier: Apache-2.0
// engine/memory/arena_test.cc: tests the buddy allocator, arenas, and borrowed ranges.
#include "engine/memory/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <random>

#include "engine/fabric/fake_fabric.h"
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

constexpr size_t kMiB = 1 << 20;
constexpr ArenaOptions kGrowing{.bytes = {16 * kMiB, 16 * kMiB, 4 * kMiB}, .step = kMiB};

TEST(Arena, GrowsWithWhatItsLanesTake) {
  auto fabric = *open_loop_fabric();
  auto arena = *Arena::create(*fabric, kGrowing);
  EXPECT_EQ(arena->registered_bytes(), kGrowing.first_total());
  EXPECT_EQ(arena->free_bytes(Purpose::kReceive), 16 * kMiB);
  EXPECT_EQ(arena->message_bytes_max(Purpose::kReceive), 8 * kMiB);
  std::vector<Buffer> taken;
  size_t registered = arena->registered_bytes();
  for (size_t growths = 0; auto buffer = arena->take(Purpose::kReceive, 300'000);) {
    taken.push_back(std::move(*buffer));
    if (arena->registered_bytes() == registered) continue;
    registered = arena->registered_bytes();
    ASSERT_LE(++growths, 3u) << "1, 1, 2 and 4 MiB";
  }
  EXPECT_EQ(registered, kGrowing.first_total() + 7 * kMiB) << "lanes do not use the other half";
  EXPECT_TRUE(arena->take_message(Purpose::kReceive, 3 * kMiB)) << "a chunk of its size";
  EXPECT_EQ(arena->registered_bytes(), registered + 4 * kMiB);
  taken.clear();
  EXPECT_EQ(arena->free_bytes(Purpose::kReceive), 16 * kMiB);
}

TEST(Arena, UsesWhatItHasIfTheFabricRefusesMore) {
  auto fabric = *open_loop_fabric();
  auto arena = *Arena::create(*fabric, kGrowing);
  const SharedMemory memory = *SharedMemory::create("other", 4096);
  std::vector<std::unique_ptr<MemoryRegion>> others;  // uses up the regions of the fabric
  while (auto region = fabric->register_memory(memory, {})) others.push_back(std::move(*region));
  const auto all = arena->take_message(Purpose::kSend, kMiB);
  ASSERT_TRUE(all);
  EXPECT_FALSE(arena->take_message(Purpose::kSend, kMiB));
  const std::string why = arena->message_refusal_text(Purpose::kSend);
  EXPECT_TRUE(why.starts_with("; more memory was refused: loop fabric: cannot register")) << why;
  EXPECT_EQ(arena->message_bytes_max(Purpose::kSend), kMiB) << "what new lanes may send";
  EXPECT_EQ(arena->message_bytes_max(Purpose::kReceive), 8 * kMiB) << "another share";
  EXPECT_EQ(arena->refusal_text(Purpose::kSend), "") << "the lanes' share did not need to grow";
  others.clear();
  EXPECT_FALSE(arena->take_message(Purpose::kSend, kMiB)) << "it does not ask in every poll";
  EXPECT_TRUE(arena->take_message(Purpose::kReceive, 2 * kMiB));
  arena->forget_refusals();
  EXPECT_TRUE(arena->take_message(Purpose::kSend, kMiB));
  EXPECT_EQ(arena->message_bytes_max(Purpose::kSend), 8 * kMiB);
}

TEST(Arena, AShareThatCannotGrowHasNoRefusal) {
  auto fabric = *open_loop_fabric();
  auto arena = *Arena::create(*fabric, {.bytes = {4 * kMiB, 4 * kMiB, 2 * kMiB}, .step = kMiB});
  const SharedMemory memory = *SharedMemory::create("other", 4096);
  std::vector<std::unique_ptr<MemoryRegion>> others;
  while (auto region = fabric->register_memory(memory, {})) others.push_back(std::move(*region));
  std::vector<Buffer> taken;
  const auto take_all = [&] {
    while (auto buffer = arena->take(Purpose::kControl, kMiB)) taken.push_back(std::move(*buffer));
  };
  take_all();
  EXPECT_NE(arena->refusal_text(Purpose::kControl), "");
  others.clear();
  take_all();
  EXPECT_EQ(taken.size(), 2u);
  EXPECT_EQ(arena->refusal_text(Purpose::kControl), "") << "all of the share is in use";
}

TEST(Arena, AMessageOfAWholeShareFitsHoweverTheShareHasGrown) {
  auto fabric = *open_loop_fabric();
  auto arena = *Arena::create(*fabric, kGrowing);
  const size_t others = arena->registered_bytes() - kMiB;
  const auto fits = [&](size_t bytes) {
    return arena->take_message(Purpose::kReceive, bytes).has_value();
  };
  std::vector<Buffer> small;
  while (auto buffer = arena->take_message(Purpose::kReceive, kMiB))
    small.push_back(std::move(*buffer));
  ASSERT_EQ(small.size(), 8u);
  EXPECT_EQ(arena->registered_bytes(), others + 8 * kMiB);
  small.resize(1);
  EXPECT_FALSE(fits(5 * kMiB)) << "a message is left";
  EXPECT_TRUE(fits(4 * kMiB)) << "the chunks are still there";
  small.clear();
  for (const size_t bytes : {5 * kMiB, 8 * kMiB}) {
    EXPECT_TRUE(fits(bytes)) << bytes;
    EXPECT_EQ(arena->registered_bytes(), others + 8 * kMiB);
  }
  EXPECT_FALSE(fits(8 * kMiB + 1));
  EXPECT_EQ(arena->message_refusal_text(Purpose::kReceive), "");
}

// A fabric that refuses regions of more than `bytes_max` bytes. Like an RDMA device, it does not
// need the descriptors of registered memory.
class SmallRegions final : public ForwardingFabric {
 public:
  FabricLimits limits() const override {
    FabricLimits limits = below_->limits();
    limits.passes_descriptors = false;
    return limits;
  }
  Result<std::unique_ptr<MemoryRegion>> register_memory(const SharedMemory& memory,
                                                        RemoteAccess access) override {
    if (memory.bytes().size() > bytes_max) return fail(ErrorCode::kExhausted, "too large for it");
    return below_->register_memory(memory, access);
  }

  size_t bytes_max = 7 * kMiB;
};

TEST(Arena, KeepsMemoryForSmallerMessagesIfTheFabricRefusesALargeChunk) {
  SmallRegions fabric;
  auto arena = *Arena::create(fabric, kGrowing);
  EXPECT_TRUE(arena->take_message(Purpose::kSend, 3 * kMiB));
  const size_t registered = arena->registered_bytes();
  EXPECT_FALSE(arena->take_message(Purpose::kSend, 5 * kMiB));
  EXPECT_EQ(arena->message_refusal_text(Purpose::kSend),
            "; more memory was refused: too large for it");
  EXPECT_EQ(arena->registered_bytes(), registered);
  EXPECT_EQ(arena->message_bytes_max(Purpose::kSend), 4 * kMiB);
  EXPECT_TRUE(arena->take_message(Purpose::kSend, 4 * kMiB));
}

TEST(Arena, CountsAgainstItsBudgetAndTheWhole) {
  auto fabric = *open_loop_fabric();
  const auto whole = std::make_shared<RdmaBudget>("all links", RdmaBudget::Amounts{22 * kMiB});
  const auto part = std::make_shared<RdmaBudget>("one peer", 2, whole);
  auto one = *Arena::create(*fabric, kGrowing, part);
  auto another = *Arena::create(*fabric, kGrowing, part);
  EXPECT_EQ(part->used(Resource::kMemory), 10 * kMiB);
  EXPECT_EQ(whole->used(Resource::kMemory), 10 * kMiB);
  const auto third = Arena::create(*fabric, kGrowing, part);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().message,
            "one peer may have 11 MiB of RDMA memory, of which 11 MiB are in use, and 1 MiB more "
            "are needed: use more workers");
  RdmaBudget::Charge other_peers(whole, Resource::kMemory);
  ASSERT_TRUE(other_peers.add(10 * kMiB));
  const auto fourth = Arena::create(*fabric, kGrowing, whole);
  ASSERT_FALSE(fourth);
  EXPECT_TRUE(fourth.error().message.starts_with("all links may have 22 MiB"));
  other_peers.give_back(10 * kMiB);
  EXPECT_EQ(whole->used(Resource::kMemory), 10 * kMiB) << "a refused arena leaves nothing";
  EXPECT_FALSE(one->take_message(Purpose::kSend, 2 * kMiB));
  EXPECT_TRUE(one->message_refusal_text(Purpose::kSend)
                  .starts_with("; more memory was refused: one peer may have 11 MiB"));
  another.reset();
  EXPECT_EQ(part->used(Resource::kMemory), 5 * kMiB);
  one->forget_refusals();
  EXPECT_TRUE(one->take_message(Purpose::kSend, 2 * kMiB));
  EXPECT_EQ(part->used(Resource::kMemory), one->registered_bytes());
  one.reset();
  EXPECT_EQ(whole->used(Resource::kMemory), 0u);
}

TEST(Arena, GrowsByLessIfItsBudgetHasLittleLeft) {
  auto fabric = *open_loop_fabric();
  const auto budget = std::make_shared<RdmaBudget>("one peer", RdmaBudget::Amounts{7 * kMiB});
  const auto arena = *Arena::create(*fabric, kGrowing, budget);
  std::vector<Buffer> buffers;
  while (auto buffer = arena->take(Purpose::kReceive, kMiB)) buffers.push_back(std::move(*buffer));
  EXPECT_EQ(buffers.size(), 3u) << "the third chunk is not as large as the two before it";
  EXPECT_EQ(budget->used(Resource::kMemory), 7 * kMiB);
  EXPECT_THAT(arena->refusal_text(Purpose::kReceive), testing::HasSubstr("1 MiB more are needed"));
}

TEST(Arena, KeepsDescriptorsOnlyForAFabricThatNeedsThem) {
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  SmallRegions device;
  auto loop = *open_loop_fabric();
  const auto before = open_descriptors();
  const auto on_device = *Arena::create(device, kGrowing);
  EXPECT_EQ(open_descriptors(), before);
  const auto on_loop = *Arena::create(*loop, kGrowing);
  EXPECT_EQ(open_descriptors(), before + static_cast<ptrdiff_t>(Arena::kShares));
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
