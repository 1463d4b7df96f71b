// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/peer_speeds.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace hat {

namespace {

// A level follows the last kMemory replies, or as many as there are calls in flight, and at first
// those since kPrior imaginary replies with the usual time, so that one slow call of a new peer
// counts little.
constexpr size_t kMemory = 12;
constexpr size_t kMemoryMax = 1024;
constexpr uint32_t kPrior = 8;
constexpr uint32_t kRepliesMin = 4;  // with fewer replies, a peer is not judged
// How far from the peer's level a call can count. So one call that takes very long, or finds its
// answer in a cache, counts little.
constexpr float kStepMax = 4;
// How much the limits for slow peers grow with the mean difference between a call and its peer's
// level, which follows the last kSpreadMemory replies of all peers.
constexpr float kSpreadPart = 0.75f;
constexpr uint32_t kSpreadMemory = 128;
constexpr float kBurdenLevelMax = 4;
constexpr size_t kJudgeEvery = 8;                        // calls
constexpr Duration kLogPause = std::chrono::minutes(1);  // between two logged changes of a peer

void log_change(PeerSpeed& peer, float above_median, TimePoint now) {
  if (now < peer.log_at) return;
  peer.log_at = now + kLogPause;
  if (peer.is_slow) {
    LOG(WARNING) << "peer " << peer.name << ": clients prefer other peers, because calls take "
                 << std::lround(std::exp2(above_median)) << " or more times as long here";
  } else {
    LOG(INFO) << "peer " << peer.name << ": is about as fast as the other peers again";
  }
}

// Returns true if the level of `peer` is known.
bool is_known(const PeerSpeed& peer, TimePoint now) {
  return peer.replies >= kRepliesMin && now - peer.measured < PeerSpeeds::kForget;
}

}  // namespace

void PeerSpeeds::set_peers(std::span<const std::string> names) {
  std::vector<std::shared_ptr<PeerSpeed>> next;
  for (const std::string& name : names) {
    std::shared_ptr<PeerSpeed> known = find(name);
    if (known == nullptr) known = std::make_shared<PeerSpeed>(PeerSpeed{.name = name});
    next.push_back(std::move(known));
  }
  all_ = std::move(next);
  levels_.reserve(all_.size());
  slow_ = static_cast<size_t>(
      std::ranges::count_if(all_, [](const auto& peer) { return peer->is_slow; }));
}

std::shared_ptr<PeerSpeed> PeerSpeeds::find(std::string_view name) const {
  const auto found = std::ranges::find_if(all_, [&](const auto& one) { return one->name == name; });
  return found == all_.end() ? nullptr : *found;
}

void PeerSpeeds::note(PeerSpeed& peer, const MeasuredCall& call, TimePoint now) {
  ++calls_since_trial_;
  if (!peer.is_slow && call.began < healed_at_) return;
  const Duration pause = now - peer.measured;
  if (pause >= kForget) peer.replies = 0;
  float level = peer.replies == 0 ? 0 : peer.level();
  const auto memory = static_cast<uint32_t>(std::clamp(call.in_flight, kMemory, kMemoryMax));
  peer.replies = std::min(peer.replies + 1, memory - kPrior);
  const float weight = 1 / static_cast<float>(kPrior + peer.replies);
  // A slow peer gets few calls, so a fast one of these counts more. After a long pause, the level
  // follows this one call, but a trial never shows that the peer is faster than the others.
  const float part = static_cast<float>(pause.count()) / static_cast<float>(kTrialPause.count());
  const bool counts_more = peer.is_slow && call.slowness < level && part > weight;
  if (counts_more) {
    const float least = std::min(median(now, &peer).value_or(0), level);
    level += (std::max(call.slowness, least) - level) * std::min(part, 1.0f);
  } else {
    const float step = std::clamp(call.slowness - level, -kStepMax, kStepMax);
    spread_calls_ = std::min(spread_calls_ + 1, kSpreadMemory);
    spread_ += (std::abs(step) - spread_) / static_cast<float>(spread_calls_);
    level += step * weight;
  }
  peer.set_level(level, call.usual);
  peer.measured = now;
  peer.is_news = true;
  if (peer.is_slow) peer.trial_at = now + kTrialPause;
  if (--until_judge_ == 0 || counts_more) judge(now);
}

void PeerSpeeds::note_use(PeerSpeed& peer, TimePoint now) {
  if (!peer.is_slow) return;
  calls_since_trial_ = 0;
  peer.trial_at = now + kTrialLatest;  // if the trial gets no answer
}

bool PeerSpeeds::is_due(const PeerSpeed& peer, TimePoint now) const {
  return is_slow(peer, now) && now >= peer.trial_at &&
         (calls_since_trial_ >= kCallsPerTrial ||
          now >= peer.trial_at + (kTrialLatest - kTrialPause));
}

bool PeerSpeeds::look(TimePoint now) {
  look_at_ = now + kLook;
  return std::ranges::any_of(all_, [&](const auto& peer) { return is_due(*peer, now); });
}

// Returns the median of the levels of all peers but `except`; returns nullopt if none is known.
std::optional<float> PeerSpeeds::median(TimePoint now, const PeerSpeed* except) {
  levels_.clear();
  for (const auto& peer : all_) {
    if (peer.get() != except && is_known(*peer, now)) levels_.push_back(peer->level());
  }
  if (levels_.empty()) return std::nullopt;
  const auto middle = levels_.begin() + static_cast<std::ptrdiff_t>((levels_.size() - 1) / 2);
  std::ranges::nth_element(levels_, middle);
  return *middle;
}

// Finds the slow peers. A slow peer has recovered only if its own calls show this: the others may
// have become slower because they do its work. But if that left more than half of the measured
// peers slow, all are judged: clients could not leave the peers that have become slower for one
// that may be faster now.
void PeerSpeeds::judge(TimePoint now) {
  until_judge_ = std::max(kJudgeEvery, all_.size());
  const auto middle = median(now, nullptr);
  if (!middle) return;
  const size_t measured = levels_.size();
  const float more = kSpreadPart * spread_;
  const auto exceeds_limit = [&](const PeerSpeed& peer) {
    return is_known(peer, now) && peer.level() - *middle >= (peer.is_slow ? kHealed : kSlow) + more;
  };
  const auto stays_slow = [&](const PeerSpeed& peer) {
    return peer.is_slow && !peer.is_news && is_known(peer, now);
  };
  const auto slow = std::ranges::count_if(
      all_, [&](const auto& peer) { return stays_slow(*peer) || exceeds_limit(*peer); });
  const bool judges_all = 2 * static_cast<size_t>(slow) > measured;
  bool is_healed = false;
  slow_ = 0;
  for (const auto& peer : all_) {
    const bool was_slow = peer->is_slow;
    const float above = peer->level() - *middle;
    const bool may_change = judges_all || !stays_slow(*peer);
    if (may_change) peer->is_slow = exceeds_limit(*peer);
    peer->is_news = false;
    if (peer->is_slow) {
      ++slow_;
      if (may_change) peer->burden = std::exp2(std::clamp(above, kHealed, kBurdenLevelMax));
    }
    if (was_slow == peer->is_slow) continue;
    is_healed |= was_slow;
    peer->trial_at = now + kTrialPause;
    log_change(*peer, above, now);
  }
  DCHECK_LE(2 * slow_, measured);
  if (!is_healed) return;
  healed_at_ = now;
  for (const auto& peer : all_) {
    if (!peer->is_slow && peer->usual != nullptr) peer->set_level(*middle, *peer->usual);
  }
}

}  // namespace hat
