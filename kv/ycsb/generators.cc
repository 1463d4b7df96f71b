// SPDX-License-Identifier: Apache-2.0
#include "kv/ycsb/generators.h"

#include <cmath>
#include <numeric>

namespace hat::ycsb {
namespace {

// For the distribution zipfian, YCSB draws a rank from this fixed number of items, and hashes the
// rank to a record. So the skew does not depend on the number of records. YCSB has both constants.
constexpr int64_t kScrambledItems = 10'000'000'000;
constexpr double kScrambledZetan = 26.46902820178302;

Zipfian zipfian_of(const Workload& workload) {
  switch (workload.distribution) {
    case Distribution::kUniform:
      return Zipfian(1);
    case Distribution::kZipfian:
      return Zipfian(kScrambledItems + 1, kScrambledZetan);
    // As in YCSB, there is one rank less than there are records. So the oldest record is never
    // chosen.
    case Distribution::kLatest:
      return Zipfian(static_cast<int64_t>(workload.records) - 1);
  }
  return Zipfian(1);
}

}  // namespace

double draw_unit(Random& random) { return static_cast<double>(random() >> 11) * 0x1.0p-53; }

int64_t fnv_hash(int64_t number) {
  uint64_t hash = 0xCBF29CE484222325;
  for (int i = 0; i < 8; ++i) {
    hash ^= static_cast<uint64_t>(number) & 0xFF;
    hash *= 1099511628211u;
    number >>= 8;
  }
  return static_cast<int64_t>(hash >> 63 ? 0 - hash : hash);
}

Zipfian::Zipfian(int64_t items, double zetan)
    : items_(items),
      zetan_(zetan),
      alpha_(1 / (1 - kTheta)),
      eta_((1 - std::pow(2.0 / static_cast<double>(items), 1 - kTheta)) / (1 - zeta(2) / zetan)) {}

double Zipfian::zeta(int64_t items) {
  double sum = 0;
  for (int64_t i = 0; i < items; ++i) sum += 1 / std::pow(static_cast<double>(i + 1), kTheta);
  return sum;
}

int64_t Zipfian::rank(double unit) const {
  const double scaled = unit * zetan_;
  if (scaled < 1) return 0;
  if (scaled < 1 + std::pow(0.5, kTheta)) return 1;
  return static_cast<int64_t>(static_cast<double>(items_) *
                              std::pow(eta_ * unit - eta_ + 1, alpha_));
}

KeyChooser::KeyChooser(const Workload& workload)
    : distribution_(workload.distribution),
      first_(static_cast<int64_t>(workload.insert_start)),
      count_(static_cast<int64_t>(workload.insert_count)),
      last_record_(static_cast<int64_t>(workload.records) - 1),
      zipfian_(zipfian_of(workload)) {}

int64_t KeyChooser::next(Random& random) const {
  switch (distribution_) {
    case Distribution::kUniform:
      return first_ + static_cast<int64_t>(random() % static_cast<uint64_t>(count_));
    case Distribution::kLatest:
      return last_record_ - zipfian_.rank(draw_unit(random));
    case Distribution::kZipfian:
      break;
  }
  // As in YCSB, which reserves records for inserts, the modulus is one more than the number of
  // records, and the loop draws again if the record does not exist.
  for (;;) {
    const int64_t key = first_ + fnv_hash(zipfian_.rank(draw_unit(random))) % (count_ + 1);
    if (key <= last_record_) return key;
  }
}

OperationChooser::OperationChooser(const Workload& workload) {
  const double sum = std::accumulate(workload.weights.begin(), workload.weights.end(), 0.0);
  for (size_t i = 0; i < kDrawnOperations; ++i) shares_[i] = workload.weights[i] / sum;
}

Operation OperationChooser::next(Random& random) const {
  double unit = draw_unit(random);
  size_t last = 0;
  for (size_t i = 0; i < kDrawnOperations; ++i) {
    if (shares_[i] == 0) continue;
    if (unit < shares_[i]) return static_cast<Operation>(i);
    unit -= shares_[i];
    last = i;
  }
  // If `unit` is above the sum of the shares, choose the last operation: rounding can make the sum
  // less than 1.
  return static_cast<Operation>(last);
}

}  // namespace hat::ycsb
