// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_choice.h: chooses the peer for a client connection that needs one, and
// for each call that may use any peer.
//
// The peers of an endpoint take turns, each as often as its weight says. The peer whose turn it is
// competes with one that is chosen at random ("power of two choices", M. Mitzenmacher 2001). The
// other one wins if even with one call more it has no more unanswered calls for its weight. So a
// slow peer, on which calls pile up, gets few new connections, and while all peers are idle, the
// turns alone decide. For a call, the first peer is random, too, so that a choice takes the same
// time however many peers there are.
//
// Thread   the worker's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace hat {

struct PeerCandidate {
  size_t position = 0;  // in the endpoint's list of peers
  uint32_t weight = 1;  // at least 1
  size_t calls = 0;     // that are not answered
  float burden = 1;     // more if the peer is slow: PeerSpeeds::burden()

  bool is_slow() const { return burden > 1; }
};

// Returns true if `a` has fewer calls for its weight than `b`.
inline bool has_fewer_calls(const PeerCandidate& a, const PeerCandidate& b) {
  return uint64_t{a.calls} * b.weight < uint64_t{b.calls} * a.weight;
}

// Returns how loaded a peer would be with one call more. A call of a peer counts as many times as
// the peer is slower.
inline float load_with_call(const PeerCandidate& one) {
  return one.burden * static_cast<float>(one.calls + 1) / static_cast<float>(one.weight);
}

// Returns true if `second` should get a call rather than `first`, which has the turn.
inline bool wins(const PeerCandidate& second, const PeerCandidate& first) {
  PeerCandidate with_the_call = second;
  ++with_the_call.calls;
  return !has_fewer_calls(first, with_the_call);
}

// How many times the load of a slow peer the others must have before it gets a call.
inline constexpr float kSlowRoom = 2;

// Removes the slow candidates if others have room. If with one call more the least loaded one of
// the others would have more than kSlowRoom times the load of a slow candidate, leaves only the
// latter. So the load that the others cannot carry goes to the slow peers, as with the "peak EWMA"
// of Finagle. Does nothing if all candidates are slow.
void leave_out_slow(std::vector<PeerCandidate>& candidates);

// The turns of one endpoint's peers: a smooth weighted round robin, in which a peer with the weight
// 2 does not have its two turns one after the other if it can be avoided. A new object is needed
// when the list of peers or a weight changes.
class PeerTurns {
 public:
  // Returns true if no peer has had a turn.
  bool fresh() const { return credits_.empty(); }
  // Returns the index of the candidate whose turn it is. There must be at least one.
  size_t next(std::span<const PeerCandidate> candidates);
  // Gives the turn to the candidate with this index.
  void give(std::span<const PeerCandidate> candidates, size_t index);

 private:
  void make_space(std::span<const PeerCandidate> candidates);

  std::vector<int64_t>
      credits_;  // by position: the turns that a peer should have had, less those it had
};

class PeerLink;

// Holds the peers among which calls choose, with their weights.
class WeightedPeers {
 public:
  struct One {
    PeerLink* peer = nullptr;
    size_t position = 0;  // in the endpoint's list of peers
    uint32_t weight = 1;
    uint64_t weights = 0;  // of this one and those before it
  };

  void clear() {
    all_.clear();
    weight_max_ = 1;
  }
  void add(PeerLink* peer, size_t position, uint32_t weight) {
    all_.push_back({peer, position, weight, (all_.empty() ? 0 : all_.back().weights) + weight});
    weight_max_ = std::max(weight_max_, weight);
  }
  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  uint32_t weight_max() const { return weight_max_; }
  uint64_t weights() const { return all_.back().weights; }
  const One& operator[](size_t index) const { return all_[index]; }
  // Returns the index of the one to which the weight with the number `at` belongs, from 0 on.
  size_t index_at(uint64_t at) const {
    const auto found = std::ranges::upper_bound(all_, at, {}, &One::weights);
    return static_cast<size_t>(found - all_.begin());
  }

 private:
  std::vector<One> all_;
  uint32_t weight_max_ = 1;
};

// Whether a choice waits for links whose first attempt to connect has not ended.
enum class FirstAttempts : uint8_t { kAwait, kIgnore };

class PeerChoice {
 public:
  explicit PeerChoice(uint32_t seed) : random_(seed) {}

  // Returns the index of the candidate that is chosen. There must be at least one. The first turn
  // is a random one, or the first client of each worker and of each node would get the same peer.
  size_t choose(std::span<const PeerCandidate> candidates, PeerTurns& turns);
  // Returns the indices of two of the peers, which are equal if there is only one: the first with
  // the probability that its weight says, the second any other one.
  std::pair<size_t, size_t> two_of(const WeightedPeers& peers) {
    const size_t count = peers.size();
    const size_t first = peers.index_at(any(peers.weights()));
    return {first, count == 1 ? first : other_than(first, count)};
  }
  // Returns an index below `count` at random.
  size_t any(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

 private:
  size_t begin(std::span<const PeerCandidate> candidates, PeerTurns& turns);
  size_t other_than(size_t one, size_t count) { return (one + 1 + any(count - 1)) % count; }

  std::mt19937 random_;
};

}  // namespace hat
