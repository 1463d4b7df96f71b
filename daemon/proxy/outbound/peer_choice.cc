// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/peer_choice.h"

#include <algorithm>

#include "base/check.h"

namespace hat {

void leave_out_slow(std::vector<PeerCandidate>& candidates) {
  const PeerCandidate* least[2] = {};  // the least loaded one that is not slow, and is slow
  for (const PeerCandidate& one : candidates) {
    const PeerCandidate*& best = least[one.is_slow() ? 1 : 0];
    if (best == nullptr || load_with_call(one) < load_with_call(*best)) best = &one;
  }
  if (least[0] == nullptr || least[1] == nullptr) return;
  if (kSlowRoom * load_with_call(*least[1]) < load_with_call(*least[0])) {
    candidates = {PeerCandidate(*least[1])};
  } else {
    std::erase_if(candidates, &PeerCandidate::is_slow);
  }
}

void PeerTurns::make_space(std::span<const PeerCandidate> candidates) {
  CHECK(!candidates.empty());
  const auto last = std::ranges::max(candidates, {}, &PeerCandidate::position).position;
  if (credits_.size() <= last) credits_.resize(last + 1);
}

size_t PeerTurns::next(std::span<const PeerCandidate> candidates) {
  make_space(candidates);
  const auto most = std::ranges::max_element(candidates, {}, [this](const PeerCandidate& one) {
    return credits_[one.position] + one.weight;
  });
  const auto index = static_cast<size_t>(most - candidates.begin());
  give(candidates, index);
  return index;
}

void PeerTurns::give(std::span<const PeerCandidate> candidates, size_t index) {
  make_space(candidates);
  int64_t round = 0;
  for (const PeerCandidate& one : candidates) {
    round += one.weight;
    credits_[one.position] += one.weight;
  }
  credits_[candidates[index].position] -= round;
}

size_t PeerChoice::choose(std::span<const PeerCandidate> candidates, PeerTurns& turns) {
  if (candidates.size() == 1) return 0;
  const size_t first = turns.fresh() ? begin(candidates, turns) : turns.next(candidates);
  const size_t second = other_than(first, candidates.size());
  return wins(candidates[second], candidates[first]) ? second : first;
}

// Gives the first turn, to each candidate with the probability that its weight says.
size_t PeerChoice::begin(std::span<const PeerCandidate> candidates, PeerTurns& turns) {
  uint64_t sum = 0;
  for (const PeerCandidate& one : candidates) sum += one.weight;
  size_t index = 0;
  for (uint64_t rest = any(sum); rest >= candidates[index].weight; ++index) {
    rest -= candidates[index].weight;
  }
  turns.give(candidates, index);
  return index;
}

}  // namespace hat
