// SPDX-License-Identifier: Apache-2.0
// bench/dds/model.h: the cost model: what each operation on a distributed structure costs at best,
// as a sum of component costs.
//
// Source  RDMA vs. RPC (Brock et al.), Tables I to III. Where the paper's queue waits on one word
//         that all want, its components are measured on one such word, as the paper ended up doing
//         (section IV, "Single FAD", "Persistent CAS").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hat::bench {

// Which other operations may run beside one: the paper's concurrency levels.
enum class Level : uint8_t {
  kReadWrite,  // C_RW: any
  kWrite,      // C_W: pushes or inserts alone; a barrier before the first pop or find
  kRead,       // C_R: pops or finds alone
  kLocal,      // C_l: none; by the owner, in its own memory
};

// Mean times of the component operations, in microseconds.
struct Components {
  double put = 0;               // W
  double get = 0;               // R
  double compare_swap = 0;      // A_CAS: one attempt, on a word that hardly anybody wants
  double compare_swap_won = 0;  // A_CAS-P: attempts until one succeeds, on a word that all want
  double fetch_add = 0;         // A_FAO, on a word that hardly anybody wants
  double fetch_add_one = 0;     // A_FAO, on a word that all want
  double call = 0;              // AM
};

// How many of each, in the order of Components.
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
  std::string_view paper;  // where it stands there; empty: ours
  std::string_view terms;  // "A_FAO + W + A_CAS-P"; empty: none is predicted
  Formula formula;
};

std::span<const Method> methods();
// nullptr: there is none of that name.
const Method* find_method(std::string_view name);

double predicted_us(const Formula& formula, const Components& components);

// A call to an owner that computes for so long between two looks: it comes at any moment of that
// time, and waits for half of it on average.
inline double attentive_call_us(double call_us, double compute_us) {
  return call_us + compute_us / 2;
}

}  // namespace hat::bench
