// SPDX-License-Identifier: Apache-2.0
#include "bench/dds/conformance.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>

#include "bench/dds/value.h"

namespace hat::bench {

using engine::Initiator;
using engine::Target;

// --- Set-up ---

void DdsConformance::start(size_t owners, size_t clients) {
  for (size_t i = 0; i < owners; ++i) {
    Owner& owner = owners_.emplace_back();
    owner.fabric = *GetParam().open_owner();
    owner.target = *Target::create(*owner.fabric, {.memory_bytes = kTable.offset + kTable.bytes(),
                                                   .peers_max = static_cast<uint32_t>(clients),
                                                   .message_bytes_max = 4096});
    owner.store = std::make_unique<CallStore>(kQueue, kTable);
  }
  for (size_t i = 0; i < clients; ++i) {
    Client& client = clients_.emplace_back();
    client.fabric = *GetParam().open_client();
    for (Owner& owner : owners_) {
      client.to.push_back(
          *Initiator::create(*client.fabric, {.local_bytes = 4096, .message_bytes_max = 4096}));
      const auto card = owner.target->add(client.to.back()->card());
      ASSERT_TRUE(card) << card.error().message;
      ASSERT_TRUE(client.to.back()->connect(*card));
    }
  }
  for (Owner& owner : owners_) {
    owner.thread = std::thread([this, &owner] {
      const auto handler = owner.store->handler();
      while (!stops_) {
        if (owner.target->poll(handler) == 0) std::this_thread::yield();
      }
    });
  }
}

void DdsConformance::stop() {
  stops_ = true;
  for (Owner& owner : owners_) {
    if (owner.thread.joinable()) owner.thread.join();
  }
}

void DdsConformance::run(const std::function<void(size_t)>& body) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < clients_.size(); ++i) threads.emplace_back([&, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

std::vector<Initiator*> DdsConformance::initiators(size_t client) {
  std::vector<Initiator*> all;
  for (const auto& one : clients_[client].to) all.push_back(one.get());
  return all;
}

namespace {

using Value = std::array<std::byte, 32>;

Value value_of(uint64_t number) {
  Value value;
  fill_value(value, number);
  return value;
}

// Calls `once` again and again while it returns kFull or kEmpty. Returns its first other outcome.
template <class Try>
Outcome until_done(const Try& once) {
  for (;;) {
    const Outcome outcome = once();
    if (outcome != Outcome::kFull && outcome != Outcome::kEmpty) return outcome;
    std::this_thread::yield();
  }
}

// Lets clients 0 and 1 push values, and clients 2 and 3 pop them, and checks that the values of
// each pusher arrive in order.
template <class Push, class Pop>
class PushAndPop {
 public:
  PushAndPop(uint32_t operations, const Push& push, const Pop& pop)
      : operations_(operations), push_(push), pop_(pop), tally_(2 * operations) {}

  void client(size_t index) {
    std::array<int64_t, 2> last{-1, -1};
    for (uint32_t i = 0; i < operations_; ++i) {
      Value value = value_of(index * operations_ + i);
      const bool pushes = index < 2;
      const Outcome outcome =
          until_done([&] { return pushes ? push_(index, value) : pop_(index, std::span(value)); });
      ASSERT_EQ(outcome, Outcome::kDone) << "client " << index << ", operation " << i;
      if (pushes) continue;
      const auto number = number_of(value);
      const std::lock_guard lock(mutex_);
      tally_.see(number);
      ASSERT_TRUE(number);
      int64_t& before = last[*number / operations_ % 2];
      EXPECT_LT(before, static_cast<int64_t>(*number)) << "not first in, first out";
      before = static_cast<int64_t>(*number);
    }
  }
  const Tally& tally() const { return tally_; }

 private:
  const uint32_t operations_;
  const Push push_;
  const Pop pop_;
  std::mutex mutex_;
  Tally tally_;
};

void expect_right(const Tally& tally) {
  EXPECT_EQ(tally.lost(), 0u);
  EXPECT_EQ(tally.twice(), 0u);
  EXPECT_EQ(tally.strange(), 0u);
}

}  // namespace

// --- The queue ---

TEST_P(DdsConformance, AQueueLosesNothingAndGivesNothingTwice) {
  start(1, 4);
  for (const bool checksums : {false, true}) {
    QueueShape shape = kQueue;
    shape.checksums = checksums;
    LocalQueue(memory(), shape).clear();
    std::vector<RemoteQueue> queues;
    for (size_t i = 0; i < 4; ++i) queues.emplace_back(initiator(i), shape);
    PushAndPop test(
        operations(),
        [&](size_t i, const Value& value) { return queues[i].push(value, Level::kReadWrite); },
        [&](size_t i, std::span<std::byte> value) {
          return queues[i].pop(value, Level::kReadWrite);
        });
    run([&](size_t i) { test.client(i); });
    expect_right(test.tally());
  }
}

TEST_P(DdsConformance, AQueueByCallsLosesNothingAndGivesNothingTwice) {
  start(1, 4);
  std::vector<CallQueue> queues;
  for (size_t i = 0; i < 4; ++i) queues.emplace_back(initiator(i), kQueue.value_bytes);
  PushAndPop test(
      operations(), [&](size_t i, const Value& value) { return queues[i].push(value); },
      [&](size_t i, std::span<std::byte> value) { return queues[i].pop(value); });
  run([&](size_t i) { test.client(i); });
  expect_right(test.tally());
}

TEST_P(DdsConformance, AQueueOfPhasesHasAllOfEach) {
  start(1, 3);
  LocalQueue local(memory(), kQueue);
  std::vector<RemoteQueue> queues;
  for (size_t i = 0; i < 3; ++i) queues.emplace_back(initiator(i), kQueue);
  for (int lap = 0; lap < 3; ++lap) {
    // Three clients push 6 values each. The capacity is 16, so some pushes return kFull.
    std::atomic<uint32_t> pushed = 0;
    run([&](size_t i) {
      for (int n = 0; n < 6; ++n) {
        const uint32_t number = pushed++;
        if (queues[i].push(value_of(number), Level::kWrite) != Outcome::kDone) return;
      }
    });
    local.settle(Level::kWrite);
    EXPECT_EQ(local.size(), 16u) << "lap " << lap;
    for (RemoteQueue& queue : queues) queue.begin_phase();
    std::mutex mutex;
    std::set<uint64_t> popped;
    run([&](size_t i) {
      for (Value value; queues[i].pop(value, Level::kRead) == Outcome::kDone;) {
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(popped.insert(number_of(value).value_or(999)).second);
      }
    });
    local.settle(Level::kRead);
    EXPECT_EQ(popped.size(), 16u);
    EXPECT_LT(*popped.rbegin(), 18u);
    EXPECT_EQ(local.size(), 0u);
    for (RemoteQueue& queue : queues) queue.begin_phase();
  }
}

TEST_P(DdsConformance, WhoFindsAQueueFullOrEmptyKeepsItsPlace) {
  start(1, 2);
  RemoteQueue first(initiator(0), kQueue);
  RemoteQueue second(initiator(1), kQueue);
  Value value{};
  EXPECT_EQ(second.pop(value, Level::kReadWrite), Outcome::kEmpty);
  for (uint64_t i = 0; i < kQueue.capacity; ++i) {
    ASSERT_EQ(first.push(value_of(i), Level::kReadWrite), Outcome::kDone);
  }
  EXPECT_EQ(first.push(value_of(98), Level::kReadWrite), Outcome::kFull);
  EXPECT_EQ(second.pop(value, Level::kReadWrite), Outcome::kDone);
  EXPECT_EQ(number_of(value), 0u);
  EXPECT_EQ(first.push(value_of(99), Level::kReadWrite), Outcome::kDone);
  for (uint64_t i = 1; i <= kQueue.capacity; ++i) {
    ASSERT_EQ(second.pop(value, Level::kReadWrite), Outcome::kDone);
    EXPECT_EQ(number_of(value), i == kQueue.capacity ? 99 : i);
  }
  EXPECT_EQ(second.pop(value, Level::kReadWrite), Outcome::kEmpty);
  LocalQueue local(memory(), kQueue);
  local.settle(Level::kReadWrite);
  EXPECT_EQ(local.push(value_of(7)), Outcome::kDone);
  second.begin_phase();
  EXPECT_EQ(second.pop(value, Level::kRead), Outcome::kDone) << "the place that it kept is void";
  EXPECT_EQ(number_of(value), 7u);
}

// A push with a later ticket must wait until the pushes with earlier tickets are written.
TEST_P(DdsConformance, APushIsNotShownBeforeThoseThatCameFirst) {
  start(1, 3);
  constexpr uint64_t kTail = 0;
  constexpr uint64_t kTailReady = 64;
  Initiator& slow = initiator(0);
  ASSERT_EQ(slow.fetch_add(kTail, 1), 0u);
  Outcome pushed{};
  std::thread second(
      [&] { pushed = RemoteQueue(initiator(1), kQueue).push(value_of(1), Level::kReadWrite); });
  while (slow.fetch_add(kTail, 0) != 2u) std::this_thread::yield();
  RemoteQueue popper(initiator(2), kQueue);
  Value value{};
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(popper.pop(value, Level::kReadWrite), Outcome::kEmpty);
    std::this_thread::yield();
  }
  fill_value(slow.local().first(kQueue.value_bytes), 0);
  ASSERT_TRUE(slow.put(kQueue.slot_offset(0), kQueue.slot_bytes()));
  EXPECT_EQ(slow.compare_swap(kTailReady, 0, 1), 0u);
  second.join();
  EXPECT_EQ(pushed, Outcome::kDone);
  for (uint64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(popper.pop(value, Level::kReadWrite), Outcome::kDone);
    EXPECT_EQ(number_of(value), i);
  }
}

// --- The hash table ---

TEST_P(DdsConformance, AFindWaitsForWhoWritesTheBucket) {
  start(1, 2);
  constexpr TableShape kOne{.buckets = 1, .value_bytes = 32};
  Initiator& writer = initiator(0);
  ASSERT_EQ(writer.compare_swap(0, 0, 1), 0u);  // free → writing
  std::atomic<bool> returned = false;
  Outcome found{};
  Value value{};
  std::thread reader([&] {
    RemoteTable table(initiators(1), kOne);
    found = table.find(7, value, Level::kReadWrite);
    returned = true;
  });
  while (writer.fetch_add(0, 0).value_or(1) == 1u && !returned) std::this_thread::yield();
  const uint64_t key = 7;
  std::memcpy(writer.local().data(), &key, sizeof key);
  fill_value(writer.local().subspan(sizeof key, kOne.value_bytes), 70);
  EXPECT_FALSE(returned) << "before it was ready";
  EXPECT_TRUE(writer.put(TableShape::kKeyAt, sizeof key + kOne.value_bytes));
  EXPECT_TRUE(writer.fetch_add(0, 1));  // writing → ready
  reader.join();
  EXPECT_EQ(found, Outcome::kDone);
  EXPECT_EQ(number_of(value), 70u);
  EXPECT_EQ(writer.fetch_add(0, 0), 2u) << "no reader is left";
}

// Each client uses keys that no other client uses, and keys that all clients write and read
// concurrently.
TEST_P(DdsConformance, ATableLosesNothingAndShowsNothingHalfWritten) {
  constexpr size_t kClients = 3;
  constexpr uint64_t kShared = 4;
  start(2, kClients);
  const uint32_t own = std::min(operations(), 64u);
  run([&](size_t i) {
    RemoteTable table(initiators(i), kTable);
    Value value{};
    for (uint32_t n = 0; n < own; ++n) {
      const uint64_t key = 1000 * (i + 1) + n;
      ASSERT_EQ(table.insert(key, value_of(key), Level::kReadWrite), Outcome::kDone);
      ASSERT_EQ(table.find(key, value, Level::kReadWrite), Outcome::kDone);
      ASSERT_EQ(number_of(value), key);
    }
    for (uint32_t n = 0; n < operations(); ++n) {
      const uint64_t key = n % kShared;
      ASSERT_EQ(table.insert(key, value_of(n * kClients + i), Level::kReadWrite), Outcome::kDone);
      // In the first kShared rounds a key may be missing: perhaps no client has inserted it yet.
      const Outcome found = table.find((n + i) % kShared, value, Level::kReadWrite);
      ASSERT_TRUE(found == Outcome::kDone || (found == Outcome::kMissing && n < kShared));
      if (found == Outcome::kDone) {
        ASSERT_TRUE(number_of(value)) << "half written";
      }
    }
  });
  stop();
  std::vector<LocalTable::Entry> entries;
  for (size_t owner = 0; owner < 2; ++owner) {
    EXPECT_TRUE(LocalTable(memory(owner), kTable).entries(entries)) << "a bucket stayed locked";
  }
  std::set<uint64_t> keys;
  for (const auto& entry : entries) {
    EXPECT_TRUE(keys.insert(entry.key).second) << entry.key << " is there twice";
    const auto number = number_of(entry.value);
    ASSERT_TRUE(number);
    if (entry.key >= kShared) {
      EXPECT_EQ(*number, entry.key);
    }
  }
  EXPECT_EQ(keys.size(), kShared + kClients * own);
}

TEST_P(DdsConformance, ATableOfPhasesHasAllOfEach) {
  constexpr size_t kClients = 3;
  start(2, kClients);
  const uint32_t own = std::min(operations(), 64u);
  run([&](size_t i) {
    RemoteTable table(initiators(i), kTable);
    for (uint32_t n = 0; n < own; ++n) {
      const uint64_t key = n * kClients + i;
      ASSERT_EQ(table.insert(key, value_of(key), Level::kWrite), Outcome::kDone);
    }
  });
  run([&](size_t i) {
    RemoteTable table(initiators(i), kTable);
    Value value{};
    for (uint64_t key = 0; key < own * kClients; ++key) {
      ASSERT_EQ(table.find(key, value, Level::kRead), Outcome::kDone) << key;
      ASSERT_EQ(number_of(value), key);
    }
    EXPECT_EQ(table.find(99'999, value, Level::kRead), Outcome::kMissing);
    EXPECT_EQ(table.find(99'999, value, Level::kReadWrite), Outcome::kMissing);
  });
}

TEST_P(DdsConformance, ATableByCallsKeepsWhatItIsGiven) {
  constexpr size_t kClients = 3;
  start(1, kClients);
  const uint32_t own = std::min(operations(), 40u);
  run([&](size_t i) {
    CallTable table(initiators(i), kTable.value_bytes);
    Value value{};
    for (uint32_t n = 0; n < own; ++n) {
      const uint64_t key = n * kClients + i;
      ASSERT_EQ(table.insert(key, value_of(key)), Outcome::kDone);
    }
    for (uint32_t n = 0; n < own; ++n) {
      const uint64_t key = n * kClients + i;
      ASSERT_EQ(table.find(key, value), Outcome::kDone);
      ASSERT_EQ(number_of(value), key);
    }
    EXPECT_EQ(table.find(99'999, value), Outcome::kMissing);
  });
  stop();
  std::vector<LocalTable::Entry> entries;
  EXPECT_TRUE(store().table().entries(entries));
  EXPECT_EQ(entries.size(), own * kClients);
}

TEST_P(DdsConformance, ATableSaysWhenItIsFull) {
  start(1, 1);
  const TableShape small{.buckets = 4, .value_bytes = 32};
  RemoteTable table(initiators(0), small);
  for (uint64_t key = 0; key < 4; ++key) {
    EXPECT_EQ(table.insert(key, value_of(key), Level::kReadWrite), Outcome::kDone);
  }
  EXPECT_EQ(table.insert(4, value_of(4), Level::kReadWrite), Outcome::kFull);
  EXPECT_EQ(table.insert(4, value_of(4), Level::kWrite), Outcome::kFull);
  EXPECT_EQ(table.insert(3, value_of(33), Level::kReadWrite), Outcome::kDone) << "it is there";
  Value value{};
  EXPECT_EQ(table.find(3, value, Level::kRead), Outcome::kDone);
  EXPECT_EQ(number_of(value), 33u);
  EXPECT_EQ(table.find(4, value, Level::kRead), Outcome::kMissing);
}

}  // namespace hat::bench
