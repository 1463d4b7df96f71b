// SPDX-License-Identifier: Apache-2.0
// bench/dds/model.h: the cost model, which predicts the best-case cost of each operation on a
// distributed structure as a sum of component costs.
//
// Source  RDMA vs. RPC (Brock et al.), Tables I to III. Where all clients of the paper's queue
//         contend for one word, the components are measured on one contended word, too, as the
//         paper does in section IV ("Single FAD", "Persistent CAS").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hat::bench {

// The operations that may run concurrently with one operation: the paper's concurrency levels.
enum class Level : uint8_t {
  kReadWrite,  // C_RW: any operation
  kWrite,      // C_W: only pushes or inserts; a barrier before the first pop or find
  kRead,       // C_R: only pops or finds
  kLocal,      // C_l: none; the owner works alone in its own memory
};

// Mean times of the component operations, in microseconds.
struct Components {
  double put = 0;               // W
  double get = 0;               // R
  double compare_swap = 0;      // A_CAS: one attempt, on a word with little contention
  double compare_swap_won = 0;  // A_CAS-P: attempts until one succeeds, on one contended word
  double fetch_add = 0;         // A_FAO, on a word with little contention
  double fetch_add_one = 0;     // A_FAO, on one contended word
  double call = 0;              // AM
};

// How often an operation uses each component, in the order of Components.
struct Formula {
  uint8_t put = 0;
  uint8_t get = 0;
  uint8_t compare_swap = 0;
  uint8_t compare_swap_won = 0;
  uint8_t fetch_add = 0;
  uint8_t fetch_add_one = 0;
  uint8_t call = 0;
};

struct Method {
  std::string_view name;   // "queue.push.c_rw"
  std::string_view paper;  // its table or figure in the paper; empty: not in the paper
  std::string_view terms;  // "A_FAO + W + A_CAS-P"; empty: no prediction
  Formula formula;
};

std::span<const Method> methods();
// Returns nullptr if no method has this name.
const Method* find_method(std::string_view name);

double predicted_us(const Formula& formula, const Components& components);

// Predicts the time of a call to an owner that computes for `compute_us` between two polls. The
// call arrives at any moment of that time, so it waits for half of it on average.
inline double attentive_call_us(double call_us, double compute_us) {
  return call_us + compute_us / 2;
}

}  // namespace hat::bench
