// SPDX-License-Identifier: Apache-2.0
// bench/dds/components.cc: measures single RDMA operations while all clients make them at the same
// time, as in Figure 3 of RDMA vs. RPC (Brock et al.).
#include <numeric>
#include <random>

#include "bench/dds/plan.h"
#include "bench/dds/value.h"

namespace hat::bench {
namespace {

using engine::Initiator;

// A random word in the memory of a random owner. The steps choose the targets of all operations
// before the measurement.
struct Target {
  Initiator* owner;
  uint64_t offset;
};

std::vector<Target> random_targets(const ClientSide& side, uint64_t count, uint64_t bytes) {
  std::minstd_rand random(side.index + 1);
  const uint64_t places = kWords - (bytes + 7) / 8;
  std::vector<Target> targets;
  for (uint64_t i = 0; i < count; ++i) {
    targets.push_back({side.owners[random() % side.owners.size()], random() % places * 8});
  }
  return targets;
}

uint64_t& word_of(OwnerSide& side, uint64_t offset) {
  return *reinterpret_cast<uint64_t*>(side.target.memory().data() + offset);
}

void clear_words(OwnerSide& side) {
  std::ranges::fill(side.target.memory().first(kStructureAt), std::byte{0});
}

uint64_t sum_of_words(OwnerSide& side) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < kWords; ++i) sum += word_of(side, i * 8);
  return sum;
}

Result<void> expect(std::string_view what, uint64_t found, uint64_t expected) {
  if (found == expected) return {};
  return fail(ErrorCode::kProtocol, std::string(what) + ": " + std::to_string(found) +
                                        " instead of " + std::to_string(expected));
}

// Returns a step in which each client repeats one RDMA operation on random words of random owners.
template <class Once>
Step at_random(const Plan& plan, const char* name, const Once& once) {
  const uint64_t operations = plan.settings.operations;
  const uint32_t bytes = plan.transfer_bytes;
  return {.name = name, .prepare = clear_words, .work = [=](ClientSide& side) -> Result<void> {
            const auto targets = random_targets(side, operations, bytes);
            if (!side.touch(0, kStructureAt)) return lost_at(0);
            uint64_t at = 0;
            const bool done = side.time(operations, [&](uint64_t i) {
              return once(*targets[at = i].owner, targets[i].offset);
            });
            return done ? Result<void>() : lost_at(at);
          }};
}

// Returns a step in which all clients repeat one operation on the same word of the first owner.
template <class Once>
Step at_one_word(const Plan& plan, const char* name, const Once& once) {
  const uint64_t operations = plan.settings.operations;
  const uint64_t all = plan.settings.all_operations();
  return {.name = name,
          .prepare = clear_words,
          .work = [=](ClientSide& side) -> Result<void> {
            uint64_t at = 0;
            uint64_t seen = 0;
            const bool done = side.time(
                operations, [&](uint64_t i) { return once(*side.owners.front(), at = i, seen); });
            return done ? Result<void>() : lost_at(at);
          },
          .check =
              [=](OwnerSide& side) {
                return expect("the counter", word_of(side, kOneWordAt), side.index == 0 ? all : 0);
              }};
}

bool won(Initiator& owner, uint64_t& seen) {
  for (;;) {
    const auto before = owner.compare_swap(kOneWordAt, seen, seen + 1);
    if (!before) return false;
    if (*before == seen) return true;
    seen = *before;
  }
}

}  // namespace

void add_components(Plan& plan) {
  const uint32_t bytes = plan.transfer_bytes;
  plan.steps.push_back(at_random(plan, "put", [=](Initiator& owner, uint64_t offset) {
    return owner.put(offset, bytes).has_value();
  }));
  plan.steps.push_back(at_random(plan, "get", [=](Initiator& owner, uint64_t offset) {
    return owner.get(offset, bytes).has_value();
  }));
  plan.steps.push_back(at_random(plan, "compare_swap", [](Initiator& owner, uint64_t offset) {
    return owner.compare_swap(offset, 0, 1).has_value();
  }));
  plan.steps.push_back(
      at_one_word(plan, "compare_swap_won", [](Initiator& owner, uint64_t, uint64_t& seen) {
        if (!won(owner, seen)) return false;
        ++seen;
        return true;
      }));
  plan.steps.push_back(at_random(plan, "fetch_add", [](Initiator& owner, uint64_t offset) {
    return owner.fetch_add(offset, 1).has_value();
  }));
  if (plan.settings.team.owners == 1) {
    const uint64_t all = plan.settings.all_operations();
    plan.steps.back().check = [=](OwnerSide& side) {
      return expect("all counters together", sum_of_words(side), all);
    };
  }
  plan.steps.push_back(
      at_one_word(plan, "fetch_add_one", [](Initiator& owner, uint64_t, uint64_t&) {
        return owner.fetch_add(kOneWordAt, 1).has_value();
      }));
  // For the component `call`, each call inserts a key into the owner's table, as in the paper.
  const uint64_t operations = plan.settings.operations;
  const uint32_t value_bytes = plan.settings.value_bytes;
  plan.steps.push_back(
      {.name = "call",
       .prepare = [&plan](OwnerSide& side) { plan.stores[side.index]->table().clear(); },
       .work = [=](ClientSide& side) -> Result<void> {
         CallTable table(side.owners, value_bytes);
         std::vector<std::byte> value(value_bytes);
         uint64_t at = 0;
         const bool done = side.time(operations, [&](uint64_t i) {
           at = side.index * operations + i;
           fill_value(value, at);
           return table.insert(at, value) == Outcome::kDone;
         });
         return done ? Result<void>() : lost_at(at);
       }});
}

}  // namespace hat::bench
