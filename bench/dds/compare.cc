// SPDX-License-Identifier: Apache-2.0
// bench/dds/compare.cc: the commands `dds components`, `dds queue` and `dds hash`: compare measured
// times with the predictions of the cost model.
#include <bit>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/rounded.h"
#include "bench/dds/plan.h"

namespace hat::bench {
namespace {

struct ComponentName {
  const char* name;
  const char* notation;
  const char* words;
};
constexpr ComponentName kComponents[] = {
    {"put", "W", "WRITE"},
    {"get", "R", "READ"},
    {"compare_swap", "A_CAS", "compare-and-swap of random words"},
    {"compare_swap_won", "A_CAS-P", "compare-and-swap of one word until it succeeds"},
    {"fetch_add", "A_FAO", "fetch-and-add of random words"},
    {"fetch_add_one", "A_FAO, one word", "fetch-and-add of one word"},
    {"call", "AM", "call, there and back"},
};

double each(uint64_t count, const Finding& finding) {
  return double(count) / double(std::max<uint64_t>(finding.operations, 1));
}

void print_json(const char* what, const Plan& plan, const std::vector<Found>& found) {
  const TeamOptions& team = plan.settings.team;
  const Components components = components_of(found);
  const auto four_digits = [](double value) { return rounded(value, 4); };
  auto measured = nlohmann::ordered_json::object();
  auto methods = nlohmann::ordered_json::array();
  for (const auto& [name, finding] : found) {
    const Method* method = find_method(name);
    if (method == nullptr) {
      measured[name + "_us"] = four_digits(finding.us);
      continue;
    }
    nlohmann::ordered_json& one = methods.emplace_back();
    one = {
        {"name", name}, {"us", four_digits(finding.us)}, {"mean_us", four_digits(finding.mean_us)}};
    if (!method->terms.empty()) {
      const double predicted = predicted_us(method->formula, components);
      one["predicted_us"] = four_digits(predicted);
      one["ratio"] = four_digits(finding.us / predicted);
    }
    const engine::OperationCounts& counts = finding.counts;
    one.update({{"terms", method->terms},
                {"puts", four_digits(each(counts.puts, finding))},
                {"gets", four_digits(each(counts.gets, finding))},
                {"compare_swaps", four_digits(each(counts.compare_swaps, finding))},
                {"fetch_adds", four_digits(each(counts.fetch_adds, finding))},
                {"calls", four_digits(each(counts.calls, finding))}});
  }
  const nlohmann::ordered_json all = {{"measurement", what},
                                      {"fabric", team.fabric},
                                      {"owners", team.owners},
                                      {"clients", team.clients},
                                      {"operations", plan.settings.operations},
                                      {"value_bytes", plan.settings.value_bytes},
                                      {"transfer_bytes", plan.transfer_bytes},
                                      {"components", std::move(measured)},
                                      {"methods", std::move(methods)}};
  std::puts(all.dump().c_str());
}

void print_table(const Plan& plan, const std::vector<Found>& found) {
  const TeamOptions& team = plan.settings.team;
  std::printf("%s, %u client%s of %u owner%s, %u operations each, values of %u B\n\n",
              team.fabric.c_str(), team.clients, team.clients == 1 ? "" : "s", team.owners,
              team.owners == 1 ? "" : "s", plan.settings.operations, plan.settings.value_bytes);
  std::printf("%-20s %-16s %10s\n", "COMPONENT", "", "MEASURED");
  const Components components = components_of(found);
  for (const ComponentName& component : kComponents) {
    for (const Found& one : found) {
      if (one.name != component.name) continue;
      std::printf("%-20s %-16s %7.3f µs   %s\n", component.name, component.notation, one.finding.us,
                  component.words);
    }
  }
  bool headed = false;
  for (const Found& one : found) {
    const Method* method = find_method(one.name);
    if (method == nullptr) continue;
    if (!std::exchange(headed, true)) {
      std::printf("\n%-20s %-19s %10s %10s %6s   %s\n", "METHOD", "PREDICTED BY", "PREDICTED",
                  "MEASURED", "RATIO", "OPERATIONS EACH: W, R, CAS, FAO, AM");
    }
    const engine::OperationCounts& counts = one.finding.counts;
    if (method->terms.empty()) {
      std::printf("%-20s %-19s %10s %7.3f µs\n", one.name.c_str(), "", "", one.finding.us);
      continue;
    }
    const double predicted = predicted_us(method->formula, components);
    std::printf("%-20s %-19s %7.3f µs %7.3f µs %6.2f   %.2f %.2f %.2f %.2f %.2f\n",
                one.name.c_str(), std::string(method->terms).c_str(), predicted, one.finding.us,
                one.finding.us / predicted, each(counts.puts, one.finding),
                each(counts.gets, one.finding), each(counts.compare_swaps, one.finding),
                each(counts.fetch_adds, one.finding), each(counts.calls, one.finding));
  }
  if (headed) std::printf("\nnothing was lost and nothing arrived twice\n");
}

Plan plan_for(const Settings& settings) {
  Plan plan{.settings = settings};
  const uint64_t all = settings.all_operations();
  plan.queue = {.offset = kStructureAt,
                .capacity = static_cast<uint32_t>(all),
                .value_bytes = settings.value_bytes};
  // Make at least twice as many buckets as keys. The space is needed, because in the table that is
  // accessed by calls the hash of a key chooses its owner, and one owner can get more keys than
  // another.
  plan.table = {.offset = kStructureAt,
                .buckets = static_cast<uint32_t>(std::bit_ceil(2 * all / settings.team.owners)),
                .value_bytes = settings.value_bytes};
  return plan;
}

int measure(const char* what, Plan& plan) {
  if (const int status = refuse_unknown(plan); status != 0) return status;
  const auto found = run(plan);
  if (!found) {
    std::fprintf(stderr, "dds: %s: %s\n", what, found.error().message.c_str());
    return 1;
  }
  if (plan.settings.json) {
    print_json(what, plan, *found);
  } else {
    print_table(plan, *found);
  }
  return 0;
}

}  // namespace

int run_components(const Settings& settings) {
  Plan plan = plan_for(settings);
  plan.transfer_bytes = settings.value_bytes;
  add_components(plan);
  std::erase_if(plan.steps, [&](const Step& step) { return !settings.wants(step.name); });
  return measure("components", plan);
}

int run_queue(const Settings& settings) {
  Plan plan = plan_for(settings);
  plan.transfer_bytes = static_cast<uint32_t>(plan.queue.slot_bytes());
  add_components(plan);
  add_queue(plan);
  return measure("queue", plan);
}

int run_table(const Settings& settings) {
  Plan plan = plan_for(settings);
  plan.transfer_bytes = static_cast<uint32_t>(plan.table.bucket_bytes());
  add_components(plan);
  add_table(plan);
  return measure("hash", plan);
}

}  // namespace hat::bench
