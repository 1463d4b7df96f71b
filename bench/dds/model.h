// SPDX-License-Identifier: Apache-2.0
// bench/dds/model.h: a cost model: predicts the best-case time of each operation on a distributed
// queue or hash table, as the sum of the times of its RDMA operations (components).
//
// Source  RDMA vs. RPC (Brock et al.), Tables I to III. If all clients contend for one word, as in
//         the queue, the component's time is also measured on one contended word. The paper does
//         this in section IV ("Single FAD", "Persistent CAS").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hat::bench {

// The paper's concurrency levels. The level of an operation says which other operations can run on
// the queue or table at the same time.
enum class Level : uint8_t {
  kReadWrite,  // C_RW: any operation
  kWrite,      // C_W: only pushes or inserts; a barrier before the first pop or find
  kRead,       // C_R: only pops or finds
  kLocal,      // C_l: no others; the owner works alone in its own memory
};

// Mean times of the RDMA operations and calls of which other operations consist, in microseconds.
struct Components {
  double put = 0;               // W: RDMA WRITE
  double get = 0;               // R: RDMA READ
  double compare_swap = 0;      // A_CAS: one attempt, on a word with little contention
  double compare_swap_won = 0;  // A_CAS-P: attempts until one succeeds, on one contended word
  double fetch_add = 0;         // A_FAO: fetch-and-add, on a word with little contention
  double fetch_add_one = 0;     // A_FAO: fetch-and-add, on one contended word
  double call = 0;              // AM: a message to the owner, and its answer
};

// How often an operation on a queue or table uses each component (RDMA operation).
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
  std::string_view paper;  // the method's table or figure in the paper; empty: not in the paper
  std::string_view terms;  // the formula as text, "A_FAO + W + A_CAS-P"; empty: no prediction
  Formula formula;
};

std::span<const Method> methods();
// Returns the method named `name`, or nullptr if there is none.
const Method* find_method(std::string_view name);

double predicted_us(const Formula& formula, const Components& components);

// Predicts the time of a call, in microseconds, if the owner computes for `compute_us` between two
// polls for calls. A call arrives at a random moment, so it waits for half of `compute_us` on
// average.
inline double attentive_call_us(double call_us, double compute_us) {
  return call_us + compute_us / 2;
}

}  // namespace hat::bench
