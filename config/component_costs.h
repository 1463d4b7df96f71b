// SPDX-License-Identifier: Apache-2.0
// config/component_costs.h: the measured costs of RDMA operations between two hosts ("component
// costs"), from which the planner predicts the cost of a call. Plain data.
//
// All costs are medians in nanoseconds. Each cost was measured with one operation at a time, by
// polling for its completion, between two sides that had no other work. The formulas of the paper
// "RDMA vs. RPC" assume this best case.
//
// Source  RDMA vs. RPC (Brock et al.), Table I and section III-A. The paper has no costs of a
// memory
//         registration, a copy or a wake-up, which the choice of a protocol needs too.
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
  std::string fabric;              // where the costs were measured: "loop" or "verbs"
  std::vector<SizedCost> put;      // W: a WRITE, until its completion
  std::vector<SizedCost> get;      // R: a READ, until its completion
  double compare_swap_ns = 0;      // A_CAS: an atomic compare-and-swap; 0: not available
  double fetch_add_ns = 0;         // A_FAO: an atomic fetch-and-add; 0: not available
  std::vector<SizedCost> message;  // AM: a SEND, and a SEND of the same size that answers it
  double wake_up_ns = 0;           // the extra time of a message if its receiver sleeps
  // The registration of memory that has been written to, with rights for remote access.
  std::vector<SizedCost> registration;
  // A copy by the processor of memory that is not in the processor's cache.
  std::vector<SizedCost> copy;
};

}  // namespace hat
