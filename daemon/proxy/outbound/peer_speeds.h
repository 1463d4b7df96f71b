// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_speeds.h: finds the peers of an endpoint whose calls take much longer
// than those of the other peers. Clients prefer the other peers.
//
// Each call is compared with the usual time of its function (daemon/metrics/usual_time.h), so that
// a peer whose clients call slow functions is not slow itself. A peer's level is the smoothed
// logarithm of these quotients. The peer is slow if its level exceeds the median of the peers'
// levels by kSlow. With an even number of peers, the lower one of the two in the middle is the
// median. So at least half of the peers are never slow, and a peer that is much faster than all
// others does not get all calls.
//
// A slow peer gets single calls as trials, to notice that it has recovered: one after kTrialPause
// without a call, but only one trial of any peer in kCallsPerTrial calls, so that trials are too
// few to count in the 99th percentile. Without enough calls, a trial comes after kTrialLatest. A
// peer that was not measured for kForget is as if it had never been measured.
//
// The idea of comparing smoothed latencies is that of the peak EWMA balancers of Finagle and
// linkerd. Those choose the peer with the smallest product of latency and unanswered calls, so that
// a peer which is ten times slower still gets some percent of the calls under load.
//
// Cost     A call costs a logarithm and a few additions; every eighth call (every n-th with more
//          than 8 peers) compares all n peers.
// Thread   the worker's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/reactor.h"

namespace hat {

// The speed of one peer for one endpoint. Streams keep it, so that a reload can remove the peer.
struct PeerSpeed {
  std::string name;
  float level = 0;       // 1: calls take twice the usual time
  uint32_t replies = 0;  // in `level`, at most a few
  bool is_slow = false;
  TimePoint measured{};  // the last call in `level`
  TimePoint trial_at{};  // if the peer is slow: no trial before this time
  TimePoint log_at{};    // no change is logged before this time
};

class PeerSpeeds {
 public:
  static constexpr float kSlow = 1.585f;  // three times as slow as the median
  static constexpr float kHealed = 1;     // a slow peer is no longer slow below this, twice
  static constexpr Duration kTrialPause = std::chrono::seconds(5);
  static constexpr Duration kTrialLatest = std::chrono::seconds(30);
  static constexpr Duration kForget = std::chrono::seconds(60);
  static constexpr uint64_t kCallsPerTrial = 200;

  // Sets the names of the endpoint's peers. Peers that were known keep their speeds.
  void set_peers(std::span<const std::string> names);
  // Returns the peer with this name; returns null if the endpoint does not have it.
  std::shared_ptr<PeerSpeed> find(std::string_view name) const;

  // Records how slow a call was, of which `peer` has answered the whole request, or had the time to
  // do so: a result of UsualTime::add().
  void note(PeerSpeed& peer, float slowness, TimePoint now);
  // Records that a client begins to use `peer`, which is a trial if the peer is slow.
  void note_use(PeerSpeed& peer, TimePoint now);

  // Returns true if others should be preferred to the peer at this position of the list: it is
  // slow, and it is not the time for a trial.
  bool avoids(size_t position, TimePoint now) const {
    return slow_ != 0 && all_[position]->is_slow && !is_due(*all_[position], now);
  }
  // Returns true if the peer at this position should be tried now.
  bool wants_trial(size_t position, TimePoint now) const {
    return slow_ != 0 && is_due(*all_[position], now);
  }
  // Returns true if any peer should be tried now. Looks only every kLook.
  bool wants_trial(TimePoint now) { return slow_ != 0 && now >= look_at_ && look(now); }

 private:
  static constexpr Duration kLook = std::chrono::milliseconds(100);

  bool is_due(const PeerSpeed& peer, TimePoint now) const;
  bool look(TimePoint now);
  void judge(TimePoint now);

  std::vector<std::shared_ptr<PeerSpeed>> all_;
  std::vector<float> levels_;  // used only by judge(), which allocates no memory
  size_t slow_ = 0;            // the number of slow peers
  size_t until_judge_ = 1;     // calls
  uint64_t calls_since_trial_ = 0;
  TimePoint look_at_{};
};

}  // namespace hat
