// SPDX-License-Identifier: Apache-2.0
#include "bench/dds/plan.h"

#include <algorithm>
#include <cstdio>

namespace hat::bench {
namespace {

// Returns the average of those findings that have counted operations.
Finding average(std::span<const Finding> findings) {
  Finding all;
  double count = 0;
  for (const Finding& one : findings) {
    if (one.operations == 0) continue;
    all.us += one.us;
    all.mean_us += one.mean_us;
    all.operations += one.operations;
    all.counts += one.counts;
    ++count;
  }
  if (count != 0) {
    all.us /= count;
    all.mean_us /= count;
  }
  return all;
}

}  // namespace

bool Settings::wants(std::string_view method) const {
  return methods.empty() || std::ranges::find(methods, method) != methods.end();
}

Result<void> lost_at(uint64_t operation) {
  return fail(ErrorCode::kProtocol,
              "operation " + std::to_string(operation) + " did not end with the expected result");
}

Result<std::vector<Found>> run(Plan& plan) {
  TeamOptions& team = plan.settings.team;
  team.memory_bytes = kStructureAt + std::max(plan.queue.bytes(), plan.table.bytes());
  team.message_bytes_max = (plan.settings.value_bytes + 64 + 4095) / 4096 * 4096;
  for (uint32_t i = 0; i < team.owners; ++i) {
    QueueShape queue = plan.queue;
    TableShape table = plan.table;
    queue.offset = table.offset = 0;
    plan.stores.push_back(std::make_unique<CallStore>(queue, table));
  }
  HAT_TRY(const auto board, Shared<Board>::create());
  HAT_TRY_VOID(run_team(
      team, plan.steps, [&](uint32_t owner) { return plan.stores[owner]->handler(); }, *board));
  std::vector<Found> found;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].name.empty()) continue;
    const bool by_clients = plan.steps[i].work != nullptr;
    found.push_back({plan.steps[i].name,
                     by_clients ? average((*board).clients[i]) : average((*board).owners[i])});
  }
  return found;
}

int refuse_unknown(const Plan& plan) {
  for (const std::string& method : plan.settings.methods) {
    if (std::ranges::find(plan.steps, method, &Step::name) != plan.steps.end()) continue;
    std::fprintf(stderr, "dds: this command has no method '%s'; omit --method to measure all\n",
                 method.c_str());
    return 2;
  }
  return 0;
}

Components components_of(const std::vector<Found>& found) {
  const auto us = [&](std::string_view name) {
    const auto at = std::ranges::find(found, name, &Found::name);
    return at == found.end() ? 0 : at->finding.us;
  };
  return {.put = us("put"),
          .get = us("get"),
          .compare_swap = us("compare_swap"),
          .compare_swap_won = us("compare_swap_won"),
          .fetch_add = us("fetch_add"),
          .fetch_add_one = us("fetch_add_one"),
          .call = us("call")};
}

}  // namespace hat::bench
