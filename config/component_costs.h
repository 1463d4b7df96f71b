// SPDX-License-Identifier: Apache-2.0
// config/component_costs.h: the costs of the fabric's operations between two hosts, as plain data.
//
// All costs are medians in nanoseconds. Each is of one operation at a time, awaited by polling,
// between two sides that have no other work: the best case, which the formulas of the paper
// "RDMA vs. RPC" assume.
//
// Source  RDMA vs. RPC (Brock et al.), Table I and section III-A. Choosing a protocol also needs
//         the costs of a message, a registration, a copy and a wake-up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hat {

struct SizedCost {
  uint32_t bytes = 0;
  double ns = 0;
};

struct ComponentCosts {
  std::string fabric;                   // "loop", "verbs"
  std::vector<SizedCost> put;           // W: a WRITE, until its completion
  std::vector<SizedCost> get;           // R: a READ
  double compare_swap_ns = 0;           // A_CAS, on an uncontended word; 0: not available
  double fetch_add_ns = 0;              // A_FAO, as compare_swap_ns
  std::vector<SizedCost> message;       // AM: a SEND and the SEND that answers it, of equal size
  double wake_up_ns = 0;                // extra time of a message if its receiver sleeps
  std::vector<SizedCost> registration;  // of memory that has been written to, with remote rights
  std::vector<SizedCost> copy;          // by this side's processor; source and target not in cache
};

}  // namespace hat
