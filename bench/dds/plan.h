// SPDX-License-Identifier: Apache-2.0
// bench/dds/plan.h: what `dds` measures: settings, the steps of a team, and what they find.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/dds/calls.h"
#include "bench/dds/model.h"
#include "bench/dds/team.h"

namespace hat::bench {

struct Settings {
  TeamOptions team;
  uint32_t operations = 20'000;  // of each client, for each method
  uint32_t value_bytes = 8;
  std::vector<std::string> methods;  // empty: all
  bool json = false;
  // attentiveness
  std::vector<double> compute_us = {0, 1, 2, 4, 8, 16, 32, 64};

  bool wants(std::string_view method) const;
  uint64_t all_operations() const { return uint64_t{team.clients} * operations; }
};

// Where each owner's memory has what: words for the components, then one structure.
inline constexpr uint64_t kWords = 100'000;  // as many elements as in the paper
inline constexpr uint64_t kOneWordAt = kWords * 8;
inline constexpr uint64_t kStructureAt = 1 << 20;

// Steps, and what they share. Made before the team's processes are.
struct Plan {
  Settings settings;
  QueueShape queue;
  TableShape table;
  uint32_t transfer_bytes = 8;  // of the components' puts and gets: a slot, or a bucket
  std::vector<Step> steps;
  std::vector<std::unique_ptr<CallStore>> stores;  // of each owner
};

// The seven components, as steps named by their member of Components.
void add_components(Plan& plan);
// Methods of queue.h and hash_table.h, as steps named by their Method.
void add_queue(Plan& plan);
void add_table(Plan& plan);

// What a step's clients (or owners, where no client works in it) found, on average.
struct Found {
  std::string name;
  Finding finding;
};
// Runs the team. The words of the first step that failed, where one did.
Result<std::vector<Found>> run(Plan& plan);
// The exit status 2, with words, where a method is asked for that no step has.
int refuse_unknown(const Plan& plan);
Components components_of(const std::vector<Found>& found);

// --- The subcommands: each prints, and returns the exit status ---

int run_components(const Settings& settings);
int run_queue(const Settings& settings);
int run_table(const Settings& settings);
int run_attentiveness(const Settings& settings);

// For steps: what is wrong, where an operation ended otherwise than it should.
Result<void> lost_at(uint64_t operation);

}  // namespace hat::bench
