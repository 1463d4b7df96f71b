// SPDX-License-Identifier: Apache-2.0
// bench/dds/plan.h: the measurements of `dds`: settings, the steps of a team, and their results.
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
  uint32_t operations = 20'000;  // per client and method
  uint32_t value_bytes = 8;
  std::vector<std::string> methods;  // empty: all
  bool json = false;
  // attentiveness
  std::vector<double> compute_us = {0, 1, 2, 4, 8, 16, 32, 64};

  bool wants(std::string_view method) const;
  uint64_t all_operations() const { return uint64_t{team.clients} * operations; }
};

// The layout of each owner's memory: first the words on which the component costs are measured,
// then one data structure.
inline constexpr uint64_t kWords = 100'000;  // the paper's number of elements
inline constexpr uint64_t kOneWordAt = kWords * 8;
inline constexpr uint64_t kStructureAt = 1 << 20;

// The steps and what they share. A Plan is made before the team's processes are forked.
struct Plan {
  Settings settings;
  QueueShape queue;
  TableShape table;
  uint32_t transfer_bytes = 8;  // of the components' puts and gets: the size of a slot or a bucket
  std::vector<Step> steps;
  std::vector<std::unique_ptr<CallStore>> stores;  // one per owner
};

// Adds a step for each of the seven components; a step's name is the member of Components.
void add_components(Plan& plan);
// Add steps for the methods of queue.h and hash_table.h; a step's name is the Method's.
void add_queue(Plan& plan);
void add_table(Plan& plan);

// The average result of the clients of a step. If the clients have no work in it, the average of
// the processes that own the memory.
struct Found {
  std::string name;
  Finding finding;
};
// Runs the team. Returns the error of the first step that failed, if any.
Result<std::vector<Found>> run(Plan& plan);
// Prints an error and returns exit status 2 if settings name a method that no step has; else
// returns 0.
int refuse_unknown(const Plan& plan);
Components components_of(const std::vector<Found>& found);

// --- The subcommands: each prints its results and returns the exit status ---

int run_components(const Settings& settings);
int run_queue(const Settings& settings);
int run_table(const Settings& settings);
int run_attentiveness(const Settings& settings);

// Returns the error of a step whose operation number `operation` did not succeed.
Result<void> lost_at(uint64_t operation);

}  // namespace hat::bench
