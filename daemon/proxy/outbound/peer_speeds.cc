// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/peer_speeds.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

namespace hat {

namespace {

// A level follows the last kMemory replies, and at first those since kPrior imaginary replies with
// the usual time, so that one slow call of a new peer counts little.
constexpr uint32_t kMemory = 12;
constexpr uint32_t kPrior = 8;
constexpr uint32_t kRepliesMin = 4;  // with fewer replies, a peer is not judged
// How much a call can count above the peer's level. So one call that takes very long counts little.
constexpr float kStepMax = 4;
constexpr size_t kJudgeEvery = 8;                        // calls
constexpr Duration kLogPause = std::chrono::minutes(1);  // between two logged changes of a peer

void log_change(PeerSpeed& peer, float above_median, TimePoint now) {
  if (now < peer.log_at) return;
  peer.log_at = now + kLogPause;
  if (peer.is_slow) {
    LOG(WARNING) << "peer " << peer.name << ": clients prefer other peers, because calls take "
                 << std::exp2(above_median) << " times as long here";
  } else {
    LOG(INFO) << "peer " << peer.name << ": is about as fast as the other peers again";
  }
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

void PeerSpeeds::note(PeerSpeed& peer, float slowness, TimePoint now) {
  ++calls_since_trial_;
  const Duration pause = now - peer.measured;
  if (pause >= kForget) {
    peer.level = 0;
    peer.replies = 0;
  }
  peer.replies = std::min(peer.replies + 1, kMemory - kPrior);
  float weight = 1 / static_cast<float>(kPrior + peer.replies);
  // A slow peer gets few calls, so a fast one of these counts more. After a long pause, the level
  // follows this one call.
  const float part = static_cast<float>(pause.count()) / static_cast<float>(kTrialPause.count());
  const bool counts_more = peer.is_slow && slowness < peer.level && part > weight;
  if (counts_more) weight = std::min(part, 1.0f);
  peer.level += (std::min(slowness, peer.level + kStepMax) - peer.level) * weight;
  peer.measured = now;
  if (peer.is_slow) peer.trial_at = now + kTrialPause;
  if (--until_judge_ == 0 || counts_more) judge(now);
}

void PeerSpeeds::note_use(PeerSpeed& peer, TimePoint now) {
  if (!peer.is_slow) return;
  calls_since_trial_ = 0;
  peer.trial_at = now + kTrialLatest;  // if the trial gets no answer
}

bool PeerSpeeds::is_due(const PeerSpeed& peer, TimePoint now) const {
  return peer.is_slow && now >= peer.trial_at &&
         (calls_since_trial_ >= kCallsPerTrial ||
          now >= peer.trial_at + (kTrialLatest - kTrialPause));
}

bool PeerSpeeds::look(TimePoint now) {
  look_at_ = now + kLook;
  return std::ranges::any_of(all_, [&](const auto& peer) { return is_due(*peer, now); });
}

// Finds the slow peers.
void PeerSpeeds::judge(TimePoint now) {
  until_judge_ = std::max(kJudgeEvery, all_.size());
  const auto is_known = [now](const PeerSpeed& peer) {
    return peer.replies >= kRepliesMin && now - peer.measured < kForget;
  };
  levels_.clear();
  for (const auto& peer : all_) {
    if (is_known(*peer)) levels_.push_back(peer->level);
  }
  if (levels_.empty()) return;
  const auto median = levels_.begin() + static_cast<std::ptrdiff_t>((levels_.size() - 1) / 2);
  std::ranges::nth_element(levels_, median);
  slow_ = 0;
  for (const auto& peer : all_) {
    const bool was_slow = peer->is_slow;
    peer->is_slow = is_known(*peer) && peer->level - *median >= (was_slow ? kHealed : kSlow);
    if (peer->is_slow) ++slow_;
    if (was_slow == peer->is_slow) continue;
    peer->trial_at = now + kTrialPause;
    log_change(*peer, peer->level - *median, now);
  }
}

}  // namespace hat
