// SPDX-License-Identifier: Apache-2.0
// bench/dds/dds_test.cc: tests the cost model's sums, and the distributed queue and hash table over
// the loop fabric.
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/dds/conformance.h"
#include "bench/dds/model.h"
#include "bench/dds/value.h"
#include "engine/fabric/loop/loop_fabric.h"

namespace hat::bench {
namespace {

// Each component has a decimal digit of its own, so that a sum shows which components it contains.
constexpr Components kDistinct{.put = 1,
                               .get = 10,
                               .compare_swap = 100,
                               .compare_swap_won = 1000,
                               .fetch_add = 10'000,
                               .fetch_add_one = 100'000,
                               .call = 1'000'000};

TEST(Model, AddsUpWhatThePaperSays) {
  struct Row {
    const char* name;
    double us;
  };
  const Row rows[] = {
      {"hash.insert.c_rw", 10'101},
      {"hash.insert.c_w", 101},
      {"hash.insert.call", 1'000'000},
      {"hash.find.c_rw", 20'010},
      {"hash.find.c_r", 10},
      {"hash.find.call", 1'000'000},
      {"queue.push.c_rw", 101'001},
      {"queue.push.c_w", 100'001},
      {"queue.push.checksum", 100'001},
      {"queue.push.call", 1'000'000},
      {"queue.pop.c_rw", 101'010},
      {"queue.pop.c_r", 100'010},
      {"queue.pop.checksum", 101'010},
      {"queue.pop.call", 1'000'000},
      {"queue.push.local", 0},
      {"queue.pop.local", 0},
      {"hash.insert.local", 0},
      {"hash.find.local", 0},
  };
  for (const Row& row : rows) {
    const Method* method = find_method(row.name);
    ASSERT_NE(method, nullptr) << row.name;
    EXPECT_EQ(predicted_us(method->formula, kDistinct), row.us) << row.name;
  }
  EXPECT_EQ(methods().size(), std::size(rows)) << "all of them are here";
  EXPECT_EQ(find_method("queue.peek"), nullptr);
}

// A method's printed terms and its formula must agree: each term is one component of the formula.
TEST(Model, SaysWhatItAddsUp) {
  for (const Method& method : methods()) {
    const Formula& f = method.formula;
    const int parts = f.put + f.get + f.compare_swap + f.compare_swap_won + f.fetch_add +
                      f.fetch_add_one + f.call;
    const auto terms = method.terms.empty() ? 0 : 1 + std::ranges::count(method.terms, '+');
    EXPECT_EQ(terms, parts) << method.name;
  }
}

TEST(Model, ACallWaitsForHalfOfTheOwnersComputing) {
  EXPECT_EQ(attentive_call_us(4, 0), 4);
  EXPECT_EQ(attentive_call_us(4, 10), 9);
}

TEST(Value, ReportsWhetherItIsWhole) {
  for (const size_t bytes : {8u, 20u, 40u}) {
    std::vector<std::byte> value(bytes);
    fill_value(value, 77);
    EXPECT_EQ(number_of(value), 77u) << bytes;
    value.back() ^= std::byte{1};
    EXPECT_NE(number_of(value), 77u) << bytes;
  }
}

TEST(Tally, CountsWhatIsLostTwiceOrStrange) {
  Tally tally(3);
  for (const auto number : std::initializer_list<std::optional<uint64_t>>{1, 1, 3, std::nullopt}) {
    tally.see(number);
  }
  EXPECT_EQ(tally.lost(), 2u);
  EXPECT_EQ(tally.twice(), 1u);
  EXPECT_EQ(tally.strange(), 2u);
  EXPECT_FALSE(tally.is_right());
}

INSTANTIATE_TEST_SUITE_P(Loop, DdsConformance,
                         testing::Values(Ground{.name = "loop",
                                                .open_owner = &engine::open_loop_fabric,
                                                .open_client = &engine::open_loop_fabric,
                                                .operations = 200}));

}  // namespace
}  // namespace hat::bench
