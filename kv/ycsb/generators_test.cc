// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/generators_test.cc: tests hashes, the zipfian formula and the choosers. draws_test.py
// compares the generators with YCSB.
#include "kv/ycsb/generators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace hat::ycsb {
namespace {

constexpr int kDraws = 200'000;

// The expected values are results of YCSB's Utils.fnvhash64().
TEST(Generators, HashIsYcsbs) {
  EXPECT_EQ(fnv_hash(0), 6284781860667377211);
  EXPECT_EQ(fnv_hash(1), 8517097267634966620);
  EXPECT_EQ(fnv_hash(255), 8064062821143829734);
  EXPECT_EQ(fnv_hash(10'000'000'000), 1201321332300452516);
}

TEST(Zipfian, RanksFollowTheirShares) {
  constexpr int kItems = 1000;
  const Zipfian zipfian(kItems);
  EXPECT_DOUBLE_EQ(Zipfian::zeta(2), 1 + std::pow(0.5, 0.99));
  Random random(1);
  std::map<int64_t, int> seen;
  for (int i = 0; i < kDraws; ++i) ++seen[zipfian.rank(draw_unit(random))];
  EXPECT_GE(seen.begin()->first, 0);
  EXPECT_LT(seen.rbegin()->first, kItems);
  // The formula is exact for the first two ranks and approximate for later ones.
  for (const int rank : {0, 1}) {
    const double expected = kDraws / std::pow(rank + 1, Zipfian::kTheta) / zipfian.zetan();
    EXPECT_NEAR(seen[rank], expected, 6 * std::sqrt(expected)) << "rank " << rank;
  }
  int first_hundred = 0;
  for (int rank = 0; rank < 100; ++rank) first_hundred += seen[rank];
  EXPECT_NEAR(double(first_hundred) / kDraws, Zipfian::zeta(100) / Zipfian::zeta(kItems), 0.02);
}

TEST(Zipfian, EndsOfItsRange) {
  const Zipfian zipfian(1000);
  EXPECT_EQ(zipfian.rank(0), 0);
  EXPECT_EQ(zipfian.rank(1 - 1e-9), 999);
  EXPECT_EQ(Zipfian(1).rank(0.99), 0);
}

struct ChooserRow {
  const char* name;
  Distribution distribution;
  uint64_t records, first, count;
  int64_t least, most;  // the first and the last record that can be drawn
};

TEST(KeyChooser, StaysAmongTheRecords) {
  const ChooserRow rows[] = {
      {"uniform", Distribution::kUniform, 100, 0, 100, 0, 99},
      {"uniform_of_a_part", Distribution::kUniform, 100, 20, 30, 20, 49},
      {"zipfian", Distribution::kZipfian, 100, 0, 100, 0, 99},
      {"zipfian_of_one", Distribution::kZipfian, 1, 0, 1, 0, 0},
      {"latest", Distribution::kLatest, 100, 0, 100, 1, 99},
      {"latest_of_one", Distribution::kLatest, 1, 0, 1, 0, 0},
  };
  for (const ChooserRow& row : rows) {
    SCOPED_TRACE(row.name);
    Workload workload;
    workload.distribution = row.distribution;
    workload.records = row.records;
    workload.insert_start = row.first;
    workload.insert_count = row.count;
    const KeyChooser keys(workload);
    Random random(1);
    std::map<int64_t, int> seen;
    for (int i = 0; i < 20'000; ++i) ++seen[keys.next(random)];
    EXPECT_GE(seen.begin()->first, row.least);
    EXPECT_LE(seen.rbegin()->first, row.most);
    EXPECT_GT(seen.size(), (row.count - 1) / 2);
  }
}

TEST(KeyChooser, TheLatestRecordIsTheMostPopular) {
  Workload workload;
  workload.distribution = Distribution::kLatest;
  workload.records = workload.insert_count = 1000;
  const KeyChooser keys(workload);
  Random random(1);
  std::map<int64_t, int> seen;
  for (int i = 0; i < 20'000; ++i) ++seen[keys.next(random)];
  EXPECT_GT(seen[999], seen[998]);
  EXPECT_GT(seen[998], seen[900]);
}

TEST(OperationChooser, FollowsTheProportions) {
  Workload workload;
  workload.weights = {3, 0, 0.9, 0.1};  // proportions need not add up to 1
  const OperationChooser chooser(workload);
  Random random(1);
  std::map<Operation, int> seen;
  for (int i = 0; i < kDraws; ++i) ++seen[chooser.next(random)];
  EXPECT_NEAR(seen[Operation::kRead], kDraws * .75, kDraws * .01);
  EXPECT_EQ(seen.count(Operation::kUpdate), 0u);
  EXPECT_NEAR(seen[Operation::kMultiRead], kDraws * .225, kDraws * .01);
  EXPECT_NEAR(seen[Operation::kMultiUpdate], kDraws * .025, kDraws * .005);
}

}  // namespace
}  // namespace hat::ycsb
