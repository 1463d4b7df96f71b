// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/peer_choice.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace hat {
namespace {

using testing::ElementsAre;
using testing::Ge;
using testing::Le;
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

TEST(ShouldMoveTest, TheOtherPeerWouldHaveLessThanHalfAsMuchToDo) {
  const auto moves = [](PeerCandidate current, PeerCandidate other) {
    return should_move(current, other);
  };
  EXPECT_TRUE(moves({0, 1, 8}, {0, 1, 3}));
  EXPECT_FALSE(moves({0, 1, 7}, {0, 1, 3}));
  EXPECT_TRUE(moves({0, 1, 4}, {0, 2, 3})) << "4 calls for a weight of 2";
  EXPECT_TRUE(moves({0, 1, 8, 10}, {0, 1, 3, 10})) << "both are ten times slower";
  EXPECT_FALSE(moves({0, 1, 7, 10}, {0, 1, 3, 10}));
  EXPECT_TRUE(moves({0, 1, 80}, {0, 1, 3, 10}))
      << "4 calls count like 40 of a peer that is not slow";
  EXPECT_FALSE(moves({0, 1, 79}, {0, 1, 3, 10}));
  EXPECT_TRUE(moves({0, 1, 4, 10}, {0, 1, 10}));
  EXPECT_FALSE(moves({0, 1, 4, 10}, {0, 1, 30}));
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

// Clients that make one call after another, with pauses, and share two peers. Before a call, each
// of them leaves its peer if should_move() says so. All begin at the first peer.
class MovingClients {
 public:
  // The calls of the peers take on average `seconds`, and the pauses 1 s.
  MovingClients(size_t clients, std::vector<double> seconds, std::vector<float> burdens)
      : seconds_(std::move(seconds)), burdens_(std::move(burdens)), clients_(clients) {
    for (Client& client : clients_) client.due = random_time(1);
  }

  void run(double end) {
    for (;;) {
      Client& client = *std::ranges::min_element(clients_, {}, &Client::due);
      if (client.due >= end) return;
      if (std::exchange(client.is_waiting, !client.is_waiting)) {
        client.due += random_time(1);
        continue;
      }
      const size_t other = 1 - client.peer;
      if (should_move(candidate(client.peer), candidate(other))) {
        client.peer = other;
        ++moves_;
      }
      ++calls_;
      client.due += random_time(seconds_[client.peer]);
    }
  }
  size_t at_first_peer() const {
    return static_cast<size_t>(std::ranges::count(clients_, size_t{0}, &Client::peer));
  }
  // Returns the part of the calls before which a client moved, since this was last called.
  double moved_part() {
    const auto moves = static_cast<double>(std::exchange(moves_, 0));
    return moves / static_cast<double>(std::exchange(calls_, 0));
  }

 private:
  struct Client {
    size_t peer = 0;
    bool is_waiting = false;  // for the answer to a call
    double due = 0;           // the answer, or the next call
  };

  PeerCandidate candidate(size_t peer) const {
    const auto calls = std::ranges::count_if(
        clients_, [&](const Client& one) { return one.is_waiting && one.peer == peer; });
    return {peer, 1, static_cast<size_t>(calls), burdens_[peer]};
  }
  double random_time(double mean) {
    return std::exponential_distribution<double>(1 / mean)(random_);
  }

  std::mt19937 random_{11};
  std::vector<double> seconds_;
  std::vector<float> burdens_;
  std::vector<Client> clients_;
  size_t moves_ = 0, calls_ = 0;
};

TEST(ShouldMoveTest, ClientsSpreadOverTwoSlowPeersAndStay) {
  const struct {
    const char* why;
    std::vector<double> seconds;
    std::vector<float> burdens;
    size_t least, most;  // clients at the first peer
  } cases[] = {
      {"neither is slow", {1, 1}, {1, 1}, 30, 70},
      {"both are slow", {1, 1}, {10, 10}, 30, 70},
      {"the second is half as slow", {2, 1}, {16, 8}, 20, 60},
      {"the first is half as slow", {1, 2}, {8, 16}, 40, 80},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.why);
    MovingClients clients(100, one.seconds, one.burdens);
    clients.run(20);
    clients.moved_part();
    clients.run(1'000);
    EXPECT_THAT(clients.at_first_peer(), testing::AllOf(Ge(one.least), Le(one.most)));
    EXPECT_LT(clients.moved_part(), 0.005);
  }
}

}  // namespace
}  // namespace hat
