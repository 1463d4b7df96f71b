// SPDX-License-Identifier: Apache-2.0
// bench/dds/plan.h: the measurements of the program dds: their settings, steps and results.
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
  std::vector<std::string> methods;  // the methods to measure; empty: all
  bool json = false;
  // For the command attentiveness: the times, in µs, that the owner computes between two polls.
  std::vector<double> compute_us = {0, 1, 2, 4, 8, 16, 32, 64};

  bool wants(std::string_view method) const;
  uint64_t all_operations() const { return uint64_t{team.clients} * operations; }
};

// The layout of each owner's memory: first the words on which single RDMA operations are measured,
// then a queue or a hash table.
inline constexpr uint64_t kWords = 100'000;  // the paper's number of elements
inline constexpr uint64_t kOneWordAt = kWords * 8;
inline constexpr uint64_t kStructureAt = 1 << 20;

// The steps of a measurement and their common data. A Plan is made before the processes (the team)
// are forked.
struct Plan {
  Settings settings;
  QueueShape queue;
  TableShape table;
  uint32_t transfer_bytes = 8;  // size of measured puts and gets: that of a slot or a bucket
  std::vector<Step> steps;
  std::vector<std::unique_ptr<CallStore>> stores;  // one per owner
};

// Adds a step for each of the seven components. A step's name is that of a member of Components.
void add_components(Plan& plan);
// Adds a step for each method of the queue (queue.h) or the hash table (hash_table.h). A step's
// name is that of a Method.
void add_queue(Plan& plan);
void add_table(Plan& plan);

// The average result of a step's clients. If the clients do nothing in the step, the average of the
// owners.
struct Found {
  std::string name;
  Finding finding;
};
// Forks the processes and runs the plan's steps. Returns the steps' results, or the error of the
// first step that failed.
Result<std::vector<Found>> run(Plan& plan);
// Prints an error and returns the exit status 2 if plan.settings names a method that no step has;
// otherwise returns 0.
int refuse_unknown(const Plan& plan);
Components components_of(const std::vector<Found>& found);

// --- The subcommands: each prints its results and returns the exit status ---

int run_components(const Settings& settings);
int run_queue(const Settings& settings);
int run_table(const Settings& settings);
int run_attentiveness(const Settings& settings);

// Returns the error for a step whose operation number `operation` failed.
Result<void> lost_at(uint64_t operation);

}  // namespace hat::bench
