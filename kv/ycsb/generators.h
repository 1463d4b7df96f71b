// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/generators.h: draws keys and operations as YCSB's generators do, from the same constants.
//
// Source   Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD'94, as
//          YCSB 0.17.0 has it; kv/ycsb/draws_test.py holds this against YCSB itself.
#pragma once

#include <array>
#include <cstdint>
#include <random>

#include "kv/ycsb/workload.h"

namespace hat::ycsb {

using Random = std::mt19937_64;

// In [0, 1), of 53 bits, as Java's nextDouble().
double draw_unit(Random& random);

// 64-bit FNV-1 of the number's eight bytes, without its sign (Java's Math.abs: the smallest number
// stays as it is).
int64_t fnv_hash(int64_t number);

// Ranks 0, 1, 2 … where rank k is drawn in proportion to 1 / (k + 1)^theta. Immutable.
class Zipfian {
 public:
  static constexpr double kTheta = 0.99;

  explicit Zipfian(int64_t items) : Zipfian(items, zeta(items)) {}
  // `zetan`: zeta(items), where it is known: summing it up takes as many steps as there are items.
  Zipfian(int64_t items, double zetan);

  static double zeta(int64_t items);

  int64_t rank(double unit) const;  // of a number in [0, 1)

  double zetan() const { return zetan_; }
  double eta() const { return eta_; }
  double alpha() const { return alpha_; }

 private:
  int64_t items_;
  double zetan_, alpha_, eta_;
};

// Which record a request is for. Immutable, so threads share one.
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

// Which operation comes next. Immutable, so threads share one.
class OperationChooser {
 public:
  explicit OperationChooser(const Workload& workload);
  Operation next(Random& random) const;

 private:
  std::array<double, kDrawnOperations> shares_{};
};

}  // namespace hat::ycsb
