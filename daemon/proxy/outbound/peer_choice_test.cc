// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/peer_choice.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

namespace hat {
namespace {

using testing::ElementsAre;
using Candidates = std::vector<PeerCandidate>;

// Gives the candidates their positions.
Candidates placed(Candidates candidates) {
  for (size_t i = 0; i < candidates.size(); ++i) candidates[i].position = i;
  return candidates;
}

// Returns how often each candidate is chosen.
std::vector<int> chosen(const Candidates& candidates, int times, uint32_t seed = 7) {
  PeerChoice choice(seed);
  PeerTurns turns;
  std::vector<int> counts(candidates.size());
  for (int i = 0; i < times; ++i) ++counts[choice.choose(placed(candidates), turns)];
  return counts;
}

std::vector<size_t> turns_of(const Candidates& candidates, int count) {
  PeerTurns turns;
  std::vector<size_t> order;
  for (int i = 0; i < count; ++i) order.push_back(turns.next(placed(candidates)));
  return order;
}

TEST(PeerTurnsTest, PeersTakeTurnsByTheirWeight) {
  EXPECT_THAT(turns_of({{0, 1}, {0, 1}, {0, 1}}, 6), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(turns_of({{0, 2}, {0, 1}}, 6), ElementsAre(0, 1, 0, 0, 1, 0));
  EXPECT_THAT(turns_of({{0, 5}, {0, 1}, {0, 1}}, 7), ElementsAre(0, 0, 1, 0, 2, 0, 0))
      << "the turns of the first are spread";
}

TEST(PeerTurnsTest, APeerThatWasAwayHasNoTurnsToCatchUp) {
  PeerTurns turns;
  const Candidates all = placed({{0, 1}, {0, 1}, {0, 1}});
  const std::vector<PeerCandidate> without = {all[0], all[2]};
  turns.next(all);
  for (int i = 0; i < 100; ++i) turns.next(without);
  std::vector<int> counts(3);
  for (int i = 0; i < 9; ++i) ++counts[turns.next(all)];
  EXPECT_THAT(counts, ElementsAre(3, 3, 3));
}

TEST(PeerChoiceTest, IdlePeersHaveTurnsByTheirWeight) {
  for (const uint32_t seed : {1u, 2u, 3u, 4u, 5u}) {
    EXPECT_THAT(chosen({{0, 3, 0}, {0, 1, 0}, {0, 2, 0}}, 600, seed), ElementsAre(300, 100, 200));
  }
}

TEST(PeerChoiceTest, TheFirstTurnIsRandomAndByWeight) {
  std::vector<int> first(3);
  for (uint32_t seed = 1; seed <= 600; ++seed) {
    const std::vector<int> counts = chosen({{0, 3, 0}, {0, 1, 0}, {0, 2, 0}}, 1, seed);
    for (size_t i = 0; i < first.size(); ++i) first[i] += counts[i];
  }
  EXPECT_NEAR(first[0], 300, 60);
  EXPECT_NEAR(first[1], 100, 40);
  EXPECT_NEAR(first[2], 200, 50);
}

TEST(PeerChoiceTest, ThePeerWithMoreUnansweredCallsLosesEachComparison) {
  EXPECT_THAT(chosen({{0, 1, 9}, {0, 1, 0}}, 100), ElementsAre(0, 100));
  EXPECT_THAT(chosen({{0, 1, 2}, {0, 1, 9}, {0, 1, 9}, {0, 1, 9}}, 400)[0], testing::Gt(150))
      << "chosen at its own turns, and at many turns of the others";
  EXPECT_EQ(chosen({{0, 1, 0}, {0, 1, 0}, {0, 1, 5}, {0, 1, 0}}, 400)[2], 0);
}

TEST(PeerChoiceTest, CallsCountForTheWeight) {
  EXPECT_THAT(chosen({{0, 2, 10}, {0, 1, 4}}, 90), ElementsAre(0, 90)) << "5 for each unit, and 4";
  EXPECT_THAT(chosen({{0, 2, 10}, {0, 1, 6}}, 90), ElementsAre(90, 0));
  EXPECT_THAT(chosen({{0, 2, 10}, {0, 1, 5}}, 90), ElementsAre(60, 30)) << "equal, so turns decide";
  EXPECT_THAT(chosen({{0, 99, 1}, {0, 1, 0}}, 100), ElementsAre(99, 1))
      << "with the new call, the second one would have many more for its weight";
}

TEST(PeerChoiceTest, OnePeerIsChosenWhateverItsLoad) {
  EXPECT_THAT(chosen({{0, 1, 1000}}, 3), ElementsAre(3));
}

// Returns how often each of the peers with these weights is the first and the second one.
std::vector<std::pair<int, int>> pairs_of(const std::vector<uint32_t>& weights, int times) {
  PeerChoice choice(7);
  WeightedPeers peers;
  for (size_t i = 0; i < weights.size(); ++i) peers.add(nullptr, i, weights[i]);
  std::vector<std::pair<int, int>> counts(weights.size());
  for (int i = 0; i < times; ++i) {
    const auto [first, second] = choice.two_of(peers);
    EXPECT_TRUE(first != second || weights.size() == 1);
    ++counts[first].first;
    ++counts[second].second;
  }
  return counts;
}

TEST(WeightedPeersTest, TheFirstOfTwoIsRandomByWeightAndTheOtherByNumber) {
  const auto counts = pairs_of({3, 1, 2}, 6'000);
  EXPECT_NEAR(counts[0].first, 3'000, 200);
  EXPECT_NEAR(counts[1].first, 1'000, 200);
  EXPECT_NEAR(counts[2].first, 2'000, 200);
  EXPECT_NEAR(counts[0].second, 500 + 1'000, 200);
  EXPECT_NEAR(counts[1].second, 1'500 + 1'000, 200);
  EXPECT_NEAR(counts[2].second, 1'500 + 500, 200);
}

TEST(WeightedPeersTest, OnePeerIsBothOfTwo) {
  EXPECT_THAT(pairs_of({5}, 3), ElementsAre(testing::Pair(3, 3)));
}

TEST(WeightedPeersTest, KnowsTheLargestWeight) {
  WeightedPeers peers;
  for (const uint32_t weight : {2u, 9u, 4u}) peers.add(nullptr, 0, weight);
  EXPECT_EQ(peers.weight_max(), 9u);
  peers.clear();
  EXPECT_TRUE(peers.empty());
  EXPECT_EQ(peers.weight_max(), 1u);
}

TEST(LeaveOutSlowTest, ASlowPeerIsLeftIfEachOtherHasTwiceItsLoad) {
  const auto left = [](Candidates candidates) {
    candidates = placed(std::move(candidates));
    leave_out_slow(candidates);
    std::vector<size_t> positions;
    for (const PeerCandidate& one : candidates) positions.push_back(one.position);
    return positions;
  };
  EXPECT_THAT(left({{0, 1, 19}, {0, 1, 30}, {0, 1, 0, 10}}), ElementsAre(0, 1));
  EXPECT_THAT(left({{0, 1, 20}, {0, 1, 30}, {0, 1, 0, 10}}), ElementsAre(2));
  EXPECT_THAT(left({{0, 1, 20}, {0, 1, 30}, {0, 1, 1, 10}}), ElementsAre(0, 1));
  EXPECT_THAT(left({{0, 1, 99}, {0, 1, 1, 10}, {0, 1, 1, 8}}), ElementsAre(2));
  EXPECT_THAT(left({{0, 1, 9, 10}, {0, 1, 0, 10}}), ElementsAre(0, 1)) << "all are slow";
}

}  // namespace
}  // namespace hat
