// SPDX-License-Identifier: Apache-2.0
// bench/dds/queue_steps.cc: measures pushes and pops while all clients use one queue at the same
// time, as in Figure 4 of RDMA vs. RPC (Brock et al.). Each step checks that no value was lost or
// seen twice.
#include "bench/dds/plan.h"
#include "bench/dds/value.h"

namespace hat::bench {
namespace {

using Clock = std::chrono::steady_clock;

// The data of the plan that the functions of a step use. Each step has a copy, because
// shape.checksums differs between steps.
struct QueueStep {
  QueueShape shape;
  uint64_t operations;
  uint64_t all;

  std::vector<std::byte> value() const { return std::vector<std::byte>(shape.value_bytes); }
  LocalQueue local(OwnerSide& side) const { return {side.target.memory(), shape}; }
};

QueueStep step_of(const Plan& plan, bool checksums) {
  QueueStep step{plan.queue, plan.settings.operations, plan.settings.all_operations()};
  step.shape.checksums = checksums;
  return step;
}

Result<void> judge_queue(const Tally& tally) {
  if (tally.is_right()) return {};
  return fail(ErrorCode::kProtocol, std::to_string(tally.lost()) + " values are lost, " +
                                        std::to_string(tally.twice()) + " arrived twice, " +
                                        std::to_string(tally.strange()) +
                                        " are not what was pushed");
}

Result<void> check_queue(const LocalQueue& queue, uint64_t all) {
  Tally tally(all);
  for (uint64_t i = 0; i < queue.size(); ++i) tally.see(number_of(queue.at(i)));
  return judge_queue(tally);
}

// Checks that each value was popped once. marks[i] is the number of times that value i was popped;
// all processes share `marks`.
Result<void> check_marks(std::span<std::atomic<uint8_t>> marks) {
  Tally tally(marks.size());
  for (uint64_t i = 0; i < marks.size(); ++i) {
    for (uint8_t times = marks[i]; times != 0; --times) tally.see(i);
  }
  return judge_queue(tally);
}

void fill_queue(LocalQueue queue, uint64_t all, std::span<std::byte> value) {
  queue.clear();
  for (uint64_t i = 0; i < all; ++i) {
    fill_value(value, i);
    queue.push(value);
  }
}

// Returns a client's work function, which times pushes. `open(side)` makes the client's handle of
// the queue, and `push(handle, value)` makes one push.
template <class Open, class Push>
auto pushing(const QueueStep& step, const Open& open, const Push& push) {
  return [=](ClientSide& side) -> Result<void> {
    auto handle = open(side);
    auto value = step.value();
    if (!side.touch(step.shape.offset, step.shape.bytes())) return lost_at(0);
    uint64_t at = 0;
    const bool done = side.time(step.operations, [&](uint64_t i) {
      at = i;
      fill_value(value, side.index * step.operations + i);
      return push(handle, value) == Outcome::kDone;
    });
    return done ? Result<void>() : lost_at(at);
  };
}

template <class Open, class Pop>
auto popping(const QueueStep& step, std::span<std::atomic<uint8_t>> marks, const Open& open,
             const Pop& pop) {
  return [=](ClientSide& side) -> Result<void> {
    auto handle = open(side);
    auto value = step.value();
    std::vector<uint64_t> popped(step.operations);
    if (!side.touch(step.shape.offset, step.shape.bytes())) return lost_at(0);
    uint64_t at = 0;
    const bool done = side.time(step.operations, [&](uint64_t i) {
      const bool popped_one = pop(handle, value) == Outcome::kDone;
      popped[at = i] = number_of(value).value_or(UINT64_MAX);
      return popped_one;
    });
    if (!done) return lost_at(at);
    for (const uint64_t number : popped) {
      if (number >= marks.size())
        return fail(ErrorCode::kProtocol, "a popped value was never pushed");
      ++marks[number];
    }
    return {};
  };
}

struct OneSided {
  const char* name;
  Level level;
  bool checksums;
};

void add_one_sided(Plan& plan, std::span<std::atomic<uint8_t>> marks) {
  for (const OneSided& way : {OneSided{"queue.push.c_rw", Level::kReadWrite, false},
                              OneSided{"queue.push.c_w", Level::kWrite, false},
                              OneSided{"queue.push.checksum", Level::kReadWrite, true}}) {
    if (!plan.settings.wants(way.name)) continue;
    const QueueStep step = step_of(plan, way.checksums);
    plan.steps.push_back(
        {.name = way.name,
         .prepare = [=](OwnerSide& side) { step.local(side).clear(); },
         .work = pushing(
             step, [=](ClientSide& side) { return RemoteQueue(*side.owners.front(), step.shape); },
             [=](RemoteQueue& queue, auto& value) { return queue.push(value, way.level); }),
         .check = [=](OwnerSide& side) -> Result<void> {
           if (side.index != 0) return {};
           LocalQueue queue = step.local(side);
           queue.settle(way.level);
           return check_queue(queue, step.all);
         }});
  }
  for (const OneSided& way : {OneSided{"queue.pop.c_rw", Level::kReadWrite, false},
                              OneSided{"queue.pop.c_r", Level::kRead, false},
                              OneSided{"queue.pop.checksum", Level::kReadWrite, true}}) {
    if (!plan.settings.wants(way.name)) continue;
    const QueueStep step = step_of(plan, way.checksums);
    plan.steps.push_back(
        {.name = way.name,
         .prepare =
             [=](OwnerSide& side) {
               for (auto& mark : marks) mark = 0;
               auto value = step.value();
               fill_queue(step.local(side), step.all, value);
             },
         .work = popping(
             step, marks,
             [=](ClientSide& side) { return RemoteQueue(*side.owners.front(), step.shape); },
             [=](RemoteQueue& queue, auto& value) { return queue.pop(value, way.level); }),
         .check = [=](OwnerSide&) { return check_marks(marks); }});
  }
}

void add_calls(Plan& plan, std::span<std::atomic<uint8_t>> marks) {
  const QueueStep step = step_of(plan, false);
  const auto open = [=](ClientSide& side) {
    return CallQueue(*side.owners.front(), step.shape.value_bytes);
  };
  if (plan.settings.wants("queue.push.call")) {
    plan.steps.push_back(
        {.name = "queue.push.call",
         .prepare = [&plan](OwnerSide& side) { plan.stores[side.index]->queue().clear(); },
         .work =
             pushing(step, open, [](CallQueue& queue, auto& value) { return queue.push(value); }),
         .check = [&plan, step](OwnerSide& side) -> Result<void> {
           if (side.index != 0) return {};
           return check_queue(plan.stores[0]->queue(), step.all);
         }});
  }
  if (plan.settings.wants("queue.pop.call")) {
    plan.steps.push_back(
        {.name = "queue.pop.call",
         .prepare =
             [&plan, step, marks](OwnerSide& side) {
               for (auto& mark : marks) mark = 0;
               auto value = step.value();
               fill_queue(plan.stores[side.index]->queue(), step.all, value);
             },
         .work = popping(step, marks, open,
                         [](CallQueue& queue, auto& value) { return queue.pop(value); }),
         .check = [=](OwnerSide&) { return check_marks(marks); }});
  }
}

// Returns a step that times the owner's local operations while no client accesses the queue.
template <class Once>
Step local_step(const char* name, const QueueStep& step, bool filled, const Once& once) {
  return {.name = name, .check = [=](OwnerSide& side) -> Result<void> {
            LocalQueue queue = step.local(side);
            auto value = step.value();
            if (filled) fill_queue(queue, step.all, value);
            if (!filled) queue.clear();
            const auto begin = Clock::now();
            for (uint64_t i = 0; i < step.operations; ++i) {
              if (once(queue, value, i) != Outcome::kDone) return lost_at(i);
            }
            const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
            side.finding.us = side.finding.mean_us = took.count() / double(step.operations);
            side.finding.operations = step.operations;
            return filled ? Result<void>() : check_queue(queue, step.operations);
          }};
}

}  // namespace

void add_queue(Plan& plan) {
  // Create the shared memory `marks` before the fork, so that all processes share it. It is static,
  // because the steps use it after this function has returned.
  static auto marks = Shared<std::atomic<uint8_t>>::create(plan.settings.all_operations());
  if (!marks) return;
  add_one_sided(plan, marks->all());
  add_calls(plan, marks->all());
  const QueueStep step = step_of(plan, false);
  if (plan.settings.wants("queue.push.local")) {
    plan.steps.push_back(
        local_step("queue.push.local", step, false, [](LocalQueue& queue, auto& value, uint64_t i) {
          fill_value(value, i);
          return queue.push(value);
        }));
  }
  if (plan.settings.wants("queue.pop.local")) {
    plan.steps.push_back(
        local_step("queue.pop.local", step, true,
                   [](LocalQueue& queue, auto& value, uint64_t) { return queue.pop(value); }));
  }
}

}  // namespace hat::bench
