// SPDX-License-Identifier: Apache-2.0
// bench/dds/table_steps.cc: measures inserts and finds while all clients use one hash table at the
// same time, as in Figure 5 of RDMA vs. RPC (Brock et al.). The steps check that every key exists
// once, with its value.
#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <random>

#include "bench/dds/plan.h"
#include "bench/dds/value.h"

namespace hat::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct TableStep {
  TableShape shape;
  uint64_t operations;
  uint64_t all;
  uint32_t owners;

  std::vector<std::byte> value() const { return std::vector<std::byte>(shape.value_bytes); }
  LocalTable local(OwnerSide& side) const { return {side.target.memory(), shape}; }
};

TableStep step_of(const Plan& plan) {
  return {plan.table, plan.settings.operations, plan.settings.all_operations(),
          plan.settings.team.owners};
}

// Shared memory that counts how often each key exists. Each owner adds the keys of its own buckets.
// The last element is the number of owners that have added their keys.
using Roll = std::shared_ptr<Shared<std::atomic<uint8_t>>>;

Result<void> judge_table(const Tally& tally) {
  if (tally.is_right()) return {};
  return fail(ErrorCode::kProtocol,
              std::to_string(tally.lost()) + " keys are lost, " + std::to_string(tally.twice()) +
                  " are in the table twice, " + std::to_string(tally.strange()) +
                  " entries have an unknown key or a wrong value");
}

// Checks that each key in `table`, the part of the hash table that one owner process holds, has its
// own value, and adds the keys to `roll`. The owner that is the last to do this also checks that
// the whole hash table has every key exactly once.
Result<void> check_table(const LocalTable& table, const TableStep& step, const Roll& roll) {
  std::vector<LocalTable::Entry> entries;
  if (!table.entries(entries)) return fail(ErrorCode::kProtocol, "a bucket stayed locked");
  Tally tally(step.all);
  const std::span<std::atomic<uint8_t>> marks = roll->all();
  for (const LocalTable::Entry& entry : entries) {
    const auto number = number_of(entry.value);
    if (number == entry.key && entry.key < step.all) {
      ++marks[entry.key];
    } else {
      tally.see(std::nullopt);
    }
  }
  if (++marks.back() < step.owners) {
    if (tally.strange() == 0) return {};
    return fail(ErrorCode::kProtocol,
                std::to_string(tally.strange()) + " entries have an unknown key or a wrong value");
  }
  for (uint64_t key = 0; key < step.all; ++key) {
    for (uint8_t times = marks[key]; times != 0; --times) tally.see(key);
  }
  return judge_table(tally);
}

// Returns a step's check function, which uses the table that `table_of(side)` returns. Creates the
// shared memory for the check now, before the fork, so that all processes share it.
template <class TableOf>
std::function<Result<void>(OwnerSide&)> checking(const TableStep& step, const TableOf& table_of) {
  auto made = Shared<std::atomic<uint8_t>>::create(step.all + 1);
  if (!made)
    return [error = made.error()](OwnerSide&) { return Result<void>(std::unexpected(error)); };
  const auto roll = std::make_shared<Shared<std::atomic<uint8_t>>>(std::move(*made));
  return [=](OwnerSide& side) { return check_table(table_of(side), step, roll); };
}

// Calls `once(table, key, value)` for each of the client's own keys, in a random order.
template <class Table, class Once>
Result<void> work(ClientSide& side, const TableStep& step, Table table, const Once& once) {
  std::vector<uint64_t> keys(step.operations);
  std::iota(keys.begin(), keys.end(), side.index * step.operations);
  std::ranges::shuffle(keys, std::minstd_rand(side.index + 1));
  auto value = step.value();
  if (!side.touch(step.shape.offset, step.shape.bytes())) return lost_at(0);
  uint64_t at = 0;
  const bool done =
      side.time(step.operations, [&](uint64_t i) { return once(table, keys[at = i], value); });
  return done ? Result<void>() : lost_at(at);
}

// Returns true if a find has found the value that was inserted for `key`.
bool is_right(Outcome outcome, uint64_t key, std::span<const std::byte> value) {
  return outcome == Outcome::kDone && number_of(value) == key;
}

// Returns a step that inserts the keys that later steps find. The step is not reported.
Step filling(const TableStep& step) {
  return {.name = "",
          .prepare = [=](OwnerSide& side) { step.local(side).clear(); },
          .work =
              [=](ClientSide& side) {
                return work(side, step, RemoteTable(side.owners, step.shape),
                            [](RemoteTable& table, uint64_t key, auto& value) {
                              fill_value(value, key);
                              return table.insert(key, value, Level::kWrite) == Outcome::kDone;
                            });
              }};
}

void add_one_sided(Plan& plan) {
  const TableStep step = step_of(plan);
  struct Variant {
    const char* name;
    Level level;
  };
  for (const Variant& way : {Variant{"hash.insert.c_rw", Level::kReadWrite},
                             Variant{"hash.insert.c_w", Level::kWrite}}) {
    if (!plan.settings.wants(way.name)) continue;
    plan.steps.push_back(
        {.name = way.name,
         .prepare = [=](OwnerSide& side) { step.local(side).clear(); },
         .work =
             [=](ClientSide& side) {
               return work(side, step, RemoteTable(side.owners, step.shape),
                           [=](RemoteTable& table, uint64_t key, auto& value) {
                             fill_value(value, key);
                             return table.insert(key, value, way.level) == Outcome::kDone;
                           });
             },
         .check = checking(step, [=](OwnerSide& side) { return step.local(side); })});
  }
  for (const Variant& way :
       {Variant{"hash.find.c_rw", Level::kReadWrite}, Variant{"hash.find.c_r", Level::kRead}}) {
    if (!plan.settings.wants(way.name)) continue;
    plan.steps.push_back(filling(step));
    plan.steps.push_back(
        {.name = way.name,
         .work =
             [=](ClientSide& side) {
               return work(side, step, RemoteTable(side.owners, step.shape),
                           [=](RemoteTable& table, uint64_t key, auto& value) {
                             return is_right(table.find(key, value, way.level), key, value);
                           });
             },
         .check = checking(step, [=](OwnerSide& side) { return step.local(side); })});
  }
}

Step inserting_by_calls(Plan& plan, const std::string& name) {
  const TableStep step = step_of(plan);
  return {.name = name,
          .prepare = [&plan](OwnerSide& side) { plan.stores[side.index]->table().clear(); },
          .work =
              [=](ClientSide& side) {
                return work(side, step, CallTable(side.owners, step.shape.value_bytes),
                            [](CallTable& table, uint64_t key, auto& value) {
                              fill_value(value, key);
                              return table.insert(key, value) == Outcome::kDone;
                            });
              },
          .check = checking(step, [&plan](OwnerSide& side) -> const LocalTable& {
            return plan.stores[side.index]->table();
          })};
}

void add_calls(Plan& plan) {
  const TableStep step = step_of(plan);
  if (plan.settings.wants("hash.insert.call")) {
    plan.steps.push_back(inserting_by_calls(plan, "hash.insert.call"));
  }
  if (!plan.settings.wants("hash.find.call")) return;
  plan.steps.push_back(inserting_by_calls(plan, ""));
  plan.steps.push_back({.name = "hash.find.call", .work = [=](ClientSide& side) {
                          return work(side, step, CallTable(side.owners, step.shape.value_bytes),
                                      [](CallTable& table, uint64_t key, auto& value) {
                                        return is_right(table.find(key, value), key, value);
                                      });
                        }});
}

// Returns a step that times the owner's local operations while no client accesses the table.
template <class Once>
Step local_step(const char* name, const TableStep& step, const Once& once) {
  return {.name = name, .check = [=](OwnerSide& side) -> Result<void> {
            LocalTable table = step.local(side);
            table.clear();
            auto value = step.value();
            std::vector<uint64_t> keys(step.operations);
            std::iota(keys.begin(), keys.end(), 0);
            std::ranges::shuffle(keys, std::minstd_rand(1));
            double us[2];
            for (const bool finds : {false, true}) {
              const auto begin = Clock::now();
              for (const uint64_t key : keys) {
                if (!once(table, key, value, finds)) return lost_at(key);
              }
              const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
              us[finds] = took.count() / double(step.operations);
            }
            side.finding.us = us[std::string_view(name) == "hash.find.local"];
            side.finding.mean_us = side.finding.us;
            side.finding.operations = step.operations;
            return {};
          }};
}

}  // namespace

void add_table(Plan& plan) {
  add_one_sided(plan);
  add_calls(plan);
  for (const char* name : {"hash.insert.local", "hash.find.local"}) {
    if (!plan.settings.wants(name)) continue;
    plan.steps.push_back(local_step(name, step_of(plan),
                                    [](LocalTable& table, uint64_t key, auto& value, bool finds) {
                                      if (finds)
                                        return is_right(table.find(key, value), key, value);
                                      fill_value(value, key);
                                      return table.insert(key, value) == Outcome::kDone;
                                    }));
  }
}

}  // namespace hat::bench
