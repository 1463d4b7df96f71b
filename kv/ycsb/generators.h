// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/generators.h: random generators of keys and operations, with the distributions and
// constants of YCSB.
//
// Source   Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD'94, as
//          implemented in YCSB 0.17.0; kv/ycsb/draws_test.py compares this code with YCSB itself.
#pragma once

#include <array>
#include <cstdint>
#include <random>

#include "kv/ycsb/workload.h"

namespace hat::ycsb {

using Random = std::mt19937_64;

// Returns a random number in [0, 1) with 53 random bits, like Java's nextDouble().
double draw_unit(Random& random);

// Returns the absolute value of the 64-bit FNV-1 hash of the number's eight bytes. If the hash is
// the lowest 64-bit number, returns it unchanged, as Java's Math.abs does.
int64_t fnv_hash(int64_t number);

// Draws ranks from 0 to items - 1. The probability of the rank k is proportional to
// 1 / (k + 1)^kTheta. A Zipfian never changes, so threads can share it.
class Zipfian {
 public:
  static constexpr double kTheta = 0.99;

  explicit Zipfian(int64_t items) : Zipfian(items, zeta(items)) {}
  // Takes `zetan`, which must be zeta(items), from the caller, because its computation takes
  // `items` steps.
  Zipfian(int64_t items, double zetan);

  static double zeta(int64_t items);

  int64_t rank(double unit) const;  // returns the rank for `unit`, a random number in [0, 1)

  double zetan() const { return zetan_; }
  double eta() const { return eta_; }
  double alpha() const { return alpha_; }

 private:
  int64_t items_;
  double zetan_, alpha_, eta_;
};

// Chooses the record of each request. A KeyChooser never changes, so threads can share it.
class KeyChooser {
 public:
  explicit KeyChooser(const Workload& workload);
  int64_t next(Random& random) const;

  const Zipfian& zipfian() const { return zipfian_; }

 private:
  Distribution distribution_;
  int64_t first_, count_, last_record_;
  Zipfian zipfian_;
};

// Chooses the next operation. An OperationChooser never changes, so threads can share it.
class OperationChooser {
 public:
  explicit OperationChooser(const Workload& workload);
  Operation next(Random& random) const;

 private:
  std::array<double, kDrawnOperations> shares_{};
};

}  // namespace hat::ycsb
