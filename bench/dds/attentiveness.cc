// SPDX-License-Identifier: Apache-2.0
// bench/dds/attentiveness.cc: measures pushes to a queue whose owner computes between two polls for
// calls, as in Figure 6 of RDMA vs. RPC (Brock et al.). Calls must wait for the owner; one-sided
// pushes need not.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <thread>

#include "base/rounded.h"
#include "bench/dds/plan.h"
#include "bench/dds/value.h"

namespace hat::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Micro = std::chrono::duration<double, std::micro>;

void compute(double us) {
  const auto end = Clock::now() + Micro(us);
  while (Clock::now() < end) {
  }
}

// A second thread of the owner, which answers calls while the owner's first thread computes.
struct ProgressThread {
  std::thread thread;
  std::atomic<bool> stops = false;
};

struct Way {
  const char* name;
  bool by_call;
  bool progress_thread;
  Level level;
};
constexpr Way kWays[] = {
    {"push.call", true, false, Level::kReadWrite},
    {"push.call.progress_thread", true, true, Level::kReadWrite},
    {"push.c_rw", false, false, Level::kReadWrite},
    {"push.c_w", false, false, Level::kWrite},
};

// Pushes values, and pauses before each push for 0.5 to 1.5 times `compute_us`. So the pushes
// arrive at random moments of the owner's computing.
template <class Push>
Result<void> push_all(ClientSide& side, const Settings& settings, double compute_us,
                      const Push& push) {
  std::minstd_rand random(side.index + 1);
  std::uniform_real_distribution<double> pause(compute_us / 2, compute_us * 3 / 2);
  std::vector<std::byte> value(settings.value_bytes);
  std::vector<double> took;
  const auto once = [&](uint64_t i) {
    fill_value(value, side.index * uint64_t{settings.operations} + i);
    compute(pause(random));
    const auto begin = Clock::now();
    const bool pushed = push(value) == Outcome::kDone;
    took.push_back(Micro(Clock::now() - begin).count());
    return pushed;
  };
  if (!side.time(settings.operations, once)) return lost_at(took.size());
  side.finding.mean_us = std::accumulate(took.begin(), took.end(), 0.0) / double(took.size());
  std::ranges::nth_element(took, took.begin() + std::ssize(took) / 2);
  side.finding.us = took[took.size() / 2];
  return {};
}

void add_way(Plan& plan, const Way& way, double compute_us) {
  const Settings& settings = plan.settings;
  const QueueShape shape = plan.queue;
  const auto progress = std::make_shared<ProgressThread>();
  Step step{.name = way.name};
  step.prepare = [&plan, shape, progress](OwnerSide& side) {
    LocalQueue(side.target.memory(), shape).clear();
    plan.stores[side.index]->queue().clear();
  };
  step.turn = [&plan, way, compute_us, progress,
               handler = engine::CallHandler()](OwnerSide& side) mutable {
    if (!handler) handler = plan.stores[side.index]->handler();
    // Start the progress thread here and not earlier, because only one thread may poll the target,
    // and the owner's first thread has polled it before this step.
    if (way.progress_thread && !progress->thread.joinable()) {
      progress->thread = std::thread([progress, handler, &target = side.target] {
        while (!progress->stops) target.poll(handler);
      });
    }
    compute(compute_us);
    if (!way.progress_thread) side.target.poll(handler);
  };
  step.work = [&settings, shape, way, compute_us](ClientSide& side) -> Result<void> {
    engine::Initiator& owner = *side.owners.front();
    if (way.by_call) {
      CallQueue queue(owner, shape.value_bytes);
      return push_all(side, settings, compute_us, [&](auto& value) { return queue.push(value); });
    }
    RemoteQueue queue(owner, shape);
    return push_all(side, settings, compute_us,
                    [&](auto& value) { return queue.push(value, way.level); });
  };
  const uint64_t all = settings.all_operations();
  step.check = [&plan, shape, way, all, progress](OwnerSide& side) -> Result<void> {
    progress->stops = true;
    if (progress->thread.joinable()) progress->thread.join();
    if (side.index != 0) return {};  // all clients push to owner 0; other owners have no values
    LocalQueue remote(side.target.memory(), shape);
    remote.settle(way.level);
    const LocalQueue& queue = way.by_call ? plan.stores[side.index]->queue() : remote;
    Tally tally(all);
    for (uint64_t i = 0; i < queue.size(); ++i) tally.see(number_of(queue.at(i)));
    return tally.is_right() ? Result<void>()
                            : fail(ErrorCode::kProtocol, "a push was lost or happened twice");
  };
  plan.steps.push_back(std::move(step));
}

// Returns the predicted time of a push in µs for each element of `found`, or 0 for elements that
// the model does not predict. The model predicts only push.call, from the time of a push.call whose
// owner does not compute.
std::vector<double> predictions(const std::vector<Found>& found,
                                const std::vector<double>& compute_us) {
  std::vector<double> predicted(found.size());
  double attentive_us = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].name != kWays[0].name) continue;
    if (compute_us[i] == 0) attentive_us = found[i].finding.us;
    if (attentive_us != 0) predicted[i] = attentive_call_us(attentive_us, compute_us[i]);
  }
  return predicted;
}

void print_json(const Settings& settings, const std::vector<Found>& found,
                const std::vector<double>& compute_us) {
  const std::vector<double> predicted = predictions(found, compute_us);
  auto rows = nlohmann::ordered_json::array();
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& [name, finding] = found[i];
    rows.push_back({{"name", name},
                    {"compute_us", compute_us[i]},
                    {"us", rounded(finding.us, 4)},
                    {"mean_us", rounded(finding.mean_us, 4)}});
    if (predicted[i] != 0) rows.back()["predicted_us"] = rounded(predicted[i], 4);
  }
  const nlohmann::ordered_json all = {{"measurement", "attentiveness"},
                                      {"fabric", settings.team.fabric},
                                      {"clients", settings.team.clients},
                                      {"operations", settings.operations},
                                      {"rows", std::move(rows)}};
  std::puts(all.dump().c_str());
}

void print_table(const std::vector<Found>& found, const std::vector<double>& compute_us) {
  const std::vector<double> predicted = predictions(found, compute_us);
  std::printf("%-26s %12s %10s %10s %10s\n", "PUSH", "OWNER BUSY", "MEDIAN", "MEAN", "PREDICTED");
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& [name, finding] = found[i];
    std::printf("%-26s %9g µs %7.3f µs %7.3f µs", name.c_str(), compute_us[i], finding.us,
                finding.mean_us);
    if (predicted[i] != 0) std::printf(" %7.3f µs", predicted[i]);
    std::printf("\n");
  }
}

}  // namespace

int run_attentiveness(const Settings& settings) {
  Plan plan{.settings = settings};
  plan.settings.team.pins = false;  // the progress thread needs its own core
  plan.queue = {.offset = kStructureAt,
                .capacity = static_cast<uint32_t>(settings.all_operations()),
                .value_bytes = settings.value_bytes};
  std::vector<double> compute_us;
  for (const double us : settings.compute_us) {
    for (const Way& way : kWays) {
      if (!settings.wants(way.name)) continue;
      add_way(plan, way, us);
      compute_us.push_back(us);
    }
  }
  if (const int status = refuse_unknown(plan); status != 0) return status;
  const auto found = run(plan);
  if (!found) {
    std::fprintf(stderr, "dds: attentiveness: %s\n", found.error().message.c_str());
    return 1;
  }
  if (plan.settings.json) {
    print_json(plan.settings, *found, compute_us);
  } else {
    print_table(*found, compute_us);
  }
  return 0;
}

}  // namespace hat::bench
