// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/learned_route.h: learns how one worker carries the calls of one function to
// one peer. It divides time into epochs, says which choice each call uses, measures the calls of
// the epoch, and gives the result to an engine::Learner.
//
//   begin() ──▶ Choice: the way and the polling mode for a call ──▶ end() or drop()
//
//   epoch n:  settling ──── measuring ────│ settling ──── measuring ────│ …
//                                   epoch n + 1
//
// Only calls on connections without unanswered calls take part: the others could not change their
// lane without waiting. All these calls use the same choice in an epoch, so a client's connection
// changes its lane at most once in an epoch. In the first third of an epoch, calls of the epoch
// before can still be in flight, so calls that begin then are not measured. When this third is
// over, the epoch before is closed: nearly all of its calls have ended. A call that has not ended
// counts as if it ended now.
//
// The cost of an epoch, by the hint perf_goal:
//   latency      the geometric mean of the median and the 99th percentile of the calls' times
//   throughput   the time between the beginnings of two calls
//   res_util     the worker's processor time for a call
//   (no hint)    the mean time of a call
//
// A time longer than kPauseMost without a call in flight also prolongs the pauses of rejected
// choices, so that a function with rare bursts of calls does not search again in each burst.
//
// An epoch has no cost if fewer than kCallsLeast of its calls have ended, if one of them used
// another lane than its choice names, or if for kPauseMost no call was in flight. But if the lane
// of the hints' plan does not come up, the epochs with this choice are measured as they are: TCP
// carries the calls.
//
// Bounds   About 20 KiB. An epoch has kEpochLeast to kEpochMost, and up to kEpochLast if fewer than
//          kCallsLeast calls have begun. A trial ends early if its calls take over
//          engine::Learner::kLossMost times as long as those of the current choice, without the
//          longest call. A choice whose lanes are not up within kOpenMost is put off.
// Thread   the worker's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/reactor.h"
#include "base/time_histogram.h"
#include "daemon/proxy/outbound/trial_lanes.h"
#include "daemon/routing/lane_key.h"
#include "daemon/routing/learned_plan.h"
#include "daemon/routing/learned_status.h"
#include "engine/plan/learner.h"

namespace hat {

class LearnedRoute {
 public:
  static constexpr Duration kEpochLeast = std::chrono::milliseconds(40);
  static constexpr Duration kEpochMost = std::chrono::milliseconds(500);
  static constexpr Duration kEpochLast = std::chrono::seconds(5);
  static constexpr int kLatenciesPerEpoch = 6;
  static constexpr uint64_t kCallsLeast = 8;
  // If no call is in flight for this time, the epoch has no cost.
  static constexpr Duration kPauseMost = std::chrono::seconds(1);
  static constexpr Duration kOpenMost = std::chrono::seconds(2);
  // After this number of epochs in a row in which a call missed the lanes of the current choice,
  // the plan of the hints is measured as it is. Another choice is given up, if these epochs also
  // took kOpenMost.
  static constexpr uint32_t kStrayedMost = 10;
  static constexpr size_t kCostsMost = 8;  // in status(), beside that of the current choice

  // Begins with the choice `kept` (LearnedPlan::kept_name()) of an earlier process if the plan has
  // it, and otherwise with the plan of the hints.
  LearnedRoute(std::shared_ptr<const LearnedPlan> plan, uint64_t seed, std::string_view kept = "");

  // The part of a call in the measurements.
  struct Part {
    uint64_t epoch = 0;  // in which the call began
    bool is_trial = false;
    bool is_measured = false;
  };
  // The way and the polling mode that a call uses, and how it is measured.
  struct Choice {
    const LearnedWay* way;
    CallPolling polling;
    Part part;  // for the functions below
  };
  // Begins a call that takes part, at reactor.now().
  Choice begin(const Reactor& reactor, TrialLanes& lanes);
  // Returns the current choice, for a call that takes no part.
  Choice current() const;
  // Ends a call that began at `began`, with `bytes` in its request and its reply. `as_chosen` is
  // false if the call did not use the lane of its choice.
  void end(const Part& part, TimePoint began, TimePoint now, uint64_t bytes, bool as_chosen);
  // Ends a call without measuring it, for example because it failed.
  void drop(const Part& part, TimePoint began, TimePoint now);
  // Gives up the choices that use the lane of this kind, to a server with these cores: it has
  // failed. The plan of the hints is kept.
  void on_lane_failed(const LaneKey& key, const engine::CoreCounts& server, TimePoint now,
                      TrialLanes& lanes);

  // Learns anew, among other choices, unless `plan` has the same choices.
  void set_plan(std::shared_ptr<const LearnedPlan> plan);
  const LearnedWay& current_way() const { return plan_->ways[learner_.way_of(learner_.current())]; }
  // Returns the members of LearnedStatus that this class knows.
  LearnedStatus status() const;

 private:
  // One epoch and its measurement.
  struct Epoch {
    uint64_t number = 0;
    std::optional<size_t> trial;  // the choice, if the epoch is a trial
    TimePoint measures_from{};    // calls that begin from now on are measured
    TimePoint ends_at{};          // if kCallsLeast measured calls have begun
    TimePoint ends_at_latest{};
    bool measures = false;      // a call has begun at or after `measures_from`
    Duration cpu_from{};        // the worker's processor time when the measurement began
    uint64_t begun = 0;         // measured calls
    uint64_t open = 0;          // of `begun`: those that have not ended
    int64_t open_since = 0;     // the sum of the times, since `measures_from`, at which they began
    uint64_t bytes = 0;         // of the measured calls that have ended
    bool strayed = false;       // a measured call used another lane
    bool too_slow = false;      // a trial that ends early
    bool must_restart = false;  // the next call begins another epoch, and nothing is learned
    // Of a trial: the calls that have ended, measured or not.
    uint64_t trial_calls = 0;
    double trial_ns = 0;    // the sum of their times
    double longest_ns = 0;  // the longest of these times
  };
  // An epoch that is over.
  struct Closing {
    Epoch epoch;
    TimePoint ended_at{};
    Duration cpu{};  // processor time that the worker used during the measurement
  };

  Choice make_choice(size_t choice, const Part& part) const;
  static engine::Learner learner_for(const LearnedPlan& plan, uint64_t seed);
  Epoch* measured_epoch(const Part& part);
  void begin_anew();
  void note_trial_call(double ns);
  double trial_loss() const;
  bool is_over(TimePoint now) const;
  void start_epoch(std::optional<size_t> trial, const Reactor& reactor);
  void start_measuring(const Reactor& reactor, TrialLanes& lanes);
  void end_epoch(const Reactor& reactor, TrialLanes& lanes);
  void discard_epochs(const Reactor& reactor);
  void close(TimePoint now, TrialLanes& lanes);
  void note_mean(double ns);
  std::optional<engine::EpochCost> measured(TimePoint now);
  void count_open_calls(TimePoint now);
  std::optional<size_t> next_trial(TimePoint now, TrialLanes& lanes);

  std::shared_ptr<const LearnedPlan> plan_;
  uint64_t seed_;
  engine::Learner learner_;
  bool began_with_kept_ = false;  // the learner began with the choice of an earlier process
  Epoch epoch_{.number = 1};
  std::optional<Closing> closing_;  // the epoch before, until it is closed
  TimeHistogram times_;  // of the measured calls that have ended, of `closing_` or else of `epoch_`
  double mean_ns_ = 0;   // of a call with the current choice, smoothed; 0: unknown
  uint32_t strayed_epochs_ = 0;    // in a row, with the current choice
  TimePoint strayed_since_{};      // the end of the first of them
  std::optional<size_t> opening_;  // the choice whose lanes must come up for the next trial
  TimePoint opening_since_{};
  uint64_t in_flight_ = 0;  // calls that take part
  TimePoint busy_until_{};  // when one of them last began or ended
};

}  // namespace hat
