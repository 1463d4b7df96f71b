// SPDX-License-Identifier: Apache-2.0
// config/component_costs.h: the measured costs of RDMA operations between two hosts ("component
// costs"), from which the planner predicts the cost of a call. Plain data.
//
// All costs are medians in nanoseconds. Those of operations were measured in the best case, which
// the formulas of the paper "RDMA vs. RPC" assume: one operation at a time, a side that polls for
// the completion, and two hosts without other work.
//
// Source  RDMA vs. RPC (Brock et al.), Table I and section III-A. The costs of a memory
//         registration, a copy and a wake-up are not in the paper, but the planner needs them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hat {

// The cost of an operation on `bytes` bytes.
struct SizedCost {
  uint32_t bytes = 0;
  double ns = 0;
};

struct ComponentCosts {
  // The letters (W, R, A_CAS, A_FAO, AM) are the names of the operations in the paper.
  std::string fabric;              // the fabric whose costs were measured: "loop" or "verbs"
  std::vector<SizedCost> put;      // W: a WRITE, until its completion
  std::vector<SizedCost> get;      // R: a READ, until its completion
  double compare_swap_ns = 0;      // A_CAS: an atomic compare-and-swap; 0 if not available
  double fetch_add_ns = 0;         // A_FAO: an atomic fetch-and-add; 0 if not available
  std::vector<SizedCost> message;  // AM: a SEND, and a SEND of the same size as its answer
  double wake_up_ns = 0;           // the extra time of a message if its receiver sleeps
  // The cost of registering memory for remote access. The memory's pages exist already, because the
  // memory was written before.
  std::vector<SizedCost> registration;
  // The cost of copying memory with the processor. The memory is not in the processor's cache.
  std::vector<SizedCost> copy;
  // The mean time between the ends of two calls if there are several callers, both hosts use event
  // polling, and request and reply have `bytes` bytes. The protocol direct_write_imm pushes the
  // replies, and rfp fetches them. Both have the same sizes; both are empty if not measured.
  std::vector<SizedCost> pushed_calls;
  std::vector<SizedCost> fetched_calls;
  std::string no_calls;  // why they were not measured; empty if they were, and in a file's costs
};

}  // namespace hat
