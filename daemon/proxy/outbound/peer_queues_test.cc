// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_queues_test.cc: how PeerSpeeds and PeerChoice together divide an open
// load, whose calls come whether or not earlier ones have ended, among peers with queues.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "daemon/metrics/usual_time.h"
#include "daemon/proxy/outbound/peer_choice.h"
#include "daemon/proxy/outbound/peer_speeds.h"

namespace hat {
namespace {

using Seconds = std::chrono::duration<double>;

// Peers that execute a limited number of calls at a time, and a fake clock.
class PeerQueues {
 public:
  // Returns how long a peer executes a call that begins at a time.
  using Work = std::function<Seconds(size_t peer, Seconds at, std::mt19937& random)>;

  PeerQueues(size_t peers, size_t at_a_time, Work work)
      : work_(std::move(work)), unanswered_(peers) {
    std::vector<std::string> names;
    for (size_t i = 0; i < peers; ++i) names.push_back(std::to_string(i));
    speeds_.set_peers(names);
    for (const auto& name : names) all_.push_back(speeds_.find(name));
    free_at_.resize(peers, std::vector<double>(at_a_time));
  }

  // Lets `rate` calls a second come until `end`.
  void run(double rate, Seconds end) {
    std::exponential_distribution<double> pause(rate);
    while (now_ < end) {
      now_ += Seconds(pause(random_));
      while (!calls_.empty() && calls_.top().end <= now_.count()) finish();
      begin(choose());
      if (is_any_slow()) ++while_slow_;
      ++count_;
    }
  }

  // Returns the mean time of the calls that have ended since this was last called.
  Seconds mean_time() {
    const double mean = time_sum_ / static_cast<double>(ended_);
    time_sum_ = 0;
    ended_ = 0;
    return Seconds(mean);
  }
  bool is_any_slow() const {
    return std::ranges::any_of(all_, [](const auto& one) { return one->is_slow; });
  }
  // Returns the part of the calls that began while a peer was slow.
  double part_while_slow() const { return while_slow_ / count_; }

 private:
  struct QueuedCall {
    double end, began;
    size_t peer;
    bool operator<(const QueuedCall& other) const { return end > other.end; }
  };

  TimePoint time_point(double seconds) const {
    return TimePoint(std::chrono::hours(1)) +
           std::chrono::duration_cast<Duration>(Seconds(seconds));
  }
  size_t choose() {
    const TimePoint now = time_point(now_.count());
    std::vector<PeerCandidate> candidates;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (speeds_.wants_trial(i, now)) return i;
      candidates.push_back({i, 1, unanswered_[i], speeds_.burden(i, now)});
    }
    leave_out_slow(candidates);
    return candidates[choice_.choose(candidates, turns_)].position;
  }
  void begin(size_t peer) {
    speeds_.note_use(*all_[peer], time_point(now_.count()));
    ++unanswered_[peer];
    double& free_at = *std::ranges::min_element(free_at_[peer]);
    const double starts = std::max(free_at, now_.count());
    free_at = starts + work_(peer, Seconds(starts), random_).count();
    calls_.push({free_at, now_.count(), peer});
  }
  void finish() {
    const QueuedCall call = calls_.top();
    calls_.pop();
    --unanswered_[call.peer];
    time_sum_ += call.end - call.began;
    ++ended_;
    const auto took = std::chrono::duration_cast<Duration>(Seconds(call.end - call.began));
    if (const auto slowness = usual_.add(took)) {
      speeds_.note(*all_[call.peer],
                   {*slowness, usual_, time_point(call.began), unanswered_[call.peer]},
                   time_point(call.end));
    }
  }

  Work work_;
  std::mt19937 random_{3};
  PeerSpeeds speeds_;
  PeerChoice choice_{7};
  PeerTurns turns_;
  UsualTime usual_;
  std::vector<std::shared_ptr<PeerSpeed>> all_;
  std::vector<size_t> unanswered_;
  std::vector<std::vector<double>> free_at_;  // by peer and call that it executes
  std::priority_queue<QueuedCall> calls_;
  Seconds now_{0};
  double time_sum_ = 0, while_slow_ = 0, count_ = 0;
  size_t ended_ = 0;
};

// Half of the peers are slow for 3 s, so that the others get more calls than they can execute. The
// queues at the others must not make them slow in turn when the first ones have recovered.
TEST(PeerQueuesTest, LoadDoesNotSwingBetweenPeersAfterAShortSlowness) {
  for (const size_t peers : {2u, 4u}) {
    for (const double load : {0.58, 0.75}) {
      SCOPED_TRACE(std::to_string(peers) + " peers, load " + std::to_string(load));
      PeerQueues queues(peers, 30, [peers](size_t peer, Seconds at, std::mt19937& random) {
        const bool is_slow = peer < peers / 2 && at > Seconds(10) && at < Seconds(13);
        return Seconds(is_slow ? 0.5 : 0.05) *
               std::uniform_real_distribution<double>(0.9, 1.1)(random);
      });
      const double rate = load * 600 * static_cast<double>(peers);
      queues.run(rate, Seconds(10));
      const Seconds before = queues.mean_time();
      queues.run(rate, Seconds(18));
      EXPECT_FALSE(queues.is_any_slow());
      queues.mean_time();
      queues.run(rate, Seconds(60));
      EXPECT_LT(queues.mean_time(), 1.1 * before);
      EXPECT_LT(queues.part_while_slow(), 0.1);
    }
  }
}

TEST(PeerQueuesTest, EqualPeersAreSeldomSlowHoweverMuchTheTimesDiffer) {
  const struct {
    const char* why;
    std::function<double(std::mt19937&)> seconds;
  } cases[] = {
      {"half of the calls take a thousand times as long",
       [](std::mt19937& random) { return random() % 2 == 0 ? 0.001 : 1.0; }},
      {"a tenth is fast", [](std::mt19937& random) { return random() % 10 == 0 ? 0.001 : 1.0; }},
      {"lognormal",
       [](std::mt19937& random) { return std::lognormal_distribution<double>(-4, 2)(random); }},
      {"exponential",
       [](std::mt19937& random) { return std::exponential_distribution<double>(20)(random); }},
  };
  for (const auto& one : cases) {
    for (const size_t peers : {2u, 4u}) {
      SCOPED_TRACE(std::string(one.why) + ", peers " + std::to_string(peers));
      PeerQueues queues(peers, 1'000, [&one](size_t, Seconds, std::mt19937& random) {
        return Seconds(one.seconds(random));
      });
      queues.run(500, Seconds(40));
      EXPECT_LT(queues.part_while_slow(), 0.03);
    }
  }
}

}  // namespace
}  // namespace hat
