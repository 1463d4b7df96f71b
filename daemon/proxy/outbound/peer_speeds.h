// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_speeds.h: finds the peers of an endpoint whose calls take much longer
// than those of the other peers. Clients prefer the other peers.
//
// Each call is compared with the usual time of its function (daemon/metrics/usual_time.h), so that
// a peer whose clients call slow functions is not slow itself. A peer's level is the smoothed
// logarithm of these quotients. The peer is slow if its level exceeds the median of the peers'
// levels by kSlow, and by more if the calls' times differ much. With an even number of peers, the
// lower one of the two in the middle is the median. So at most half of the measured peers are
// slow, and a peer that is much faster than all others does not get all calls.
//
// The usual time follows the calls of the peers in use. So that the level of a peer without calls
// does not grow old, the peer keeps the time, and its level follows from the present usual time.
// The function of its last call stands for all functions of its calls.
//
// A slow peer stays slow until calls of its own show that it has recovered: the others may have
// become slower because they do its work. But all peers are judged, also by their older calls, if
// more than half would be slow otherwise. So with two peers, clients leave the one that has become
// slower than the other one was.
//
// A peer that gets more calls than before returns its short calls first, and would seem to be fast.
// So a level follows at least as many calls as are in flight. And when a peer has recovered, all
// levels begin again with the calls that begin then: the times of the calls before contain the
// queues at the peers that did its work.
//
// A slow peer is not avoided absolutely: a call of it counts like as many calls of others as it is
// slower, which is its burden, and it gets calls if the others have kSlowRoom times its load
// (peer_choice.h). So the others are never overloaded for long while it is idle.
//
// A slow peer gets single calls as trials, to notice that it has recovered: one after kTrialPause
// without a call, but only one trial of any peer in kCallsPerTrial calls, so that trials are too
// few to count in the 99th percentile. Without enough calls, a trial comes after kTrialLatest. A
// peer that was not measured for kForget is as if it had never been measured.
//
// The idea of comparing smoothed latencies is that of the peak EWMA balancers of Finagle and
// linkerd. Those choose the peer with the smallest product of latency and unanswered calls, so that
// a peer which is ten times slower still gets some percent of the calls under load. The factor
// kSlowRoom (peer_choice.h) makes its share smaller.
//
// Cost     A call costs a logarithm and a few additions; every eighth call (every n-th with more
//          than 8 peers) compares all n peers.
// Thread   the worker's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/reactor.h"
#include "daemon/metrics/usual_time.h"

namespace hat {

// The speed of one peer for one endpoint. Streams keep it, so that a reload can remove the peer.
struct PeerSpeed {
  std::string name;
  float time = 0;                    // the usual time and the level when it was measured, added
  const UsualTime* usual = nullptr;  // of the last call in `time`; null: no call was measured
  uint32_t replies = 0;              // in `time`, at most a few
  bool is_slow = false;
  bool is_news = false;  // a call was measured since is_slow was last decided
  float burden = 1;      // if the peer is slow: see PeerSpeeds::burden()
  TimePoint measured{};  // the last call in `time`
  TimePoint trial_at{};  // if the peer is slow: no trial before this time
  TimePoint log_at{};    // no change is logged before this time

  // Returns the peer's level, 1 if its calls take twice the present usual time.
  float level() const { return usual == nullptr ? 0 : time - usual->level(); }
  // Sets the level, now that a call of the function with this usual time was measured.
  void set_level(float level, const UsualTime& of_call) {
    usual = &of_call;
    time = level + of_call.level();
  }
};

// How slow a slow peer is.
struct SlowStatus {
  float times = 0;         // as long as those of the median peer its calls take: from 2 to 16
  Duration until_trial{};  // no trial begins before
};

// A call that a peer has answered, or had the time to answer.
struct MeasuredCall {
  float slowness = 0;      // a result of `usual.add()`
  const UsualTime& usual;  // of the call's function; must outlive the peers
  TimePoint began{};
  size_t in_flight = 0;  // the peer's unanswered calls when this one ended
};

class PeerSpeeds {
 public:
  static constexpr float kSlow = 1.585f;  // three times as slow as the median
  static constexpr float kHealed = 1;     // a slow peer is no longer slow below this, twice
  // The burden of a slow peer is at least this.
  static constexpr float kBurdenMin = 2;
  static constexpr Duration kTrialPause = std::chrono::seconds(5);
  static constexpr Duration kTrialLatest = std::chrono::seconds(30);
  static constexpr Duration kForget = std::chrono::seconds(60);
  static constexpr uint64_t kCallsPerTrial = 200;

  // Sets the names of the endpoint's peers. Peers that were known keep their speeds.
  void set_peers(std::span<const std::string> names);
  // Returns the peer with this name; returns null if the endpoint does not have it.
  std::shared_ptr<PeerSpeed> find(std::string_view name) const;

  // Records a call of `peer`.
  void note(PeerSpeed& peer, const MeasuredCall& call, TimePoint now);
  // Records that a client begins to use `peer`, which is a trial if the peer is slow.
  void note_use(PeerSpeed& peer, TimePoint now);

  // Returns true if `peer` is slow. A peer that was not measured for kForget is not.
  static bool is_slow(const PeerSpeed& peer, TimePoint now) {
    return peer.is_slow && now - peer.measured < kForget;
  }
  // Returns true if any peer may be slow.
  bool has_slow() const { return slow_ != 0; }
  // Returns true if `peer` is slow and should be tried now.
  bool is_due(const PeerSpeed& peer, TimePoint now) const;
  // Returns 1 if the peer at this position of the list is not slow. Otherwise returns how many
  // times as long its calls take as those of the median peer: from 2 to 16.
  float burden(size_t position, TimePoint now) const {
    return slow_ != 0 ? burden(*all_[position], now) : 1;
  }
  static float burden(const PeerSpeed& peer, TimePoint now) {
    return is_slow(peer, now) ? peer.burden : 1;
  }
  // Returns true if the peer at this position should be tried now.
  bool wants_trial(size_t position, TimePoint now) const {
    return slow_ != 0 && is_due(*all_[position], now);
  }
  // Returns true if any peer should be tried now. Looks only every kLook.
  bool wants_trial(TimePoint now) { return slow_ != 0 && now >= look_at_ && look(now); }
  // Calls `use` with the name and the SlowStatus of each slow peer.
  template <class Use>
  void for_each_slow(TimePoint now, Use use) const {
    if (slow_ == 0) return;
    for (const auto& peer : all_) {
      if (!is_slow(*peer, now)) continue;
      use(std::string_view(peer->name),
          SlowStatus{peer->burden, std::max(peer->trial_at - now, Duration::zero())});
    }
  }

 private:
  static constexpr Duration kLook = std::chrono::milliseconds(100);

  bool look(TimePoint now);
  void judge(TimePoint now);
  std::optional<float> median(TimePoint now, const PeerSpeed* except);

  std::vector<std::shared_ptr<PeerSpeed>> all_;
  std::vector<float> levels_;  // used only by median(), which allocates no memory
  size_t slow_ = 0;            // the number of slow peers
  size_t until_judge_ = 1;     // calls
  uint64_t calls_since_trial_ = 0;
  float spread_ = 0;  // the mean difference between a call and its peer's level
  uint32_t spread_calls_ = 0;
  TimePoint healed_at_{};  // when a peer was last found to have recovered
  TimePoint look_at_{};
};

}  // namespace hat
