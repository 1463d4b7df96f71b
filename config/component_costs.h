// SPDX-License-Identifier: Apache-2.0
// config/component_costs.h: what the fabric's operations cost between two hosts: plain data.
//
// All costs are medians in nanoseconds, of one operation at a time, awaited by polling, between two
// sides that do nothing else: the best case that the formulas of RDMA vs. RPC are made of.
//
// Source  RDMA vs. RPC (Brock et al.), Table I and section III-A; message, registration, copy and
//         wake-up are what a choice of protocol needs besides.
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
  double compare_swap_ns = 0;           // A_CAS, on a word that nobody else wants. 0: there is none
  double fetch_add_ns = 0;              // A_FAO, the same
  std::vector<SizedCost> message;       // AM: a SEND and the SEND that answers it, both so long
  double wake_up_ns = 0;                // what a message takes longer where its receiver sleeps
  std::vector<SizedCost> registration;  // of memory that has been written to, with remote rights
  std::vector<SizedCost> copy;          // by this side's processor, from and to memory not in cache
};

}  // namespace hat
