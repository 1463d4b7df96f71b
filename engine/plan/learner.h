// SPDX-License-Identifier: Apache-2.0
// engine/plan/learner.h: learns by measurement which of several choices carries the calls of one
// function to one peer at the lowest cost. Pure: it does no I/O, and has no clock.
//
// A choice is a pair of a way (protocols and slots) and a polling mode. The learner always has a
// current choice, at first the one of the hints. Its user divides time into epochs, uses one choice
// in each epoch, and measures its cost. An epoch with another choice than the current one is a
// trial. Before and after a trial is an epoch with the current choice:
//
//   current   current   trial   current   current   current   trial   current   ...
//               a         b        a'
//
// The trial's result is ln(b) − (ln(a) + ln(a'))/2. So a load that changes slowly changes no
// result. The same expression over three epochs with the current choice shows the noise, from which
// the standard error of a mean result follows.
//
//   a choice is rejected   if the mean of its results is worse than 0 by one standard error, or
//                          after kTrialsMost trials, or if kUnknownMost trials in a row have an
//                          unknown cost. It is tried again after a pause, which doubles with each
//                          rejection, from kPauseMin to kPauseMax
//   a choice becomes the   after at least kTrialsToWin trials, if the mean of its results, plus
//   current one            kSure standard errors, shows a cost of at most kWorth of the current
//                          choice's
//   all pauses end         if the load or the current choice's cost has changed by more than
//                          kChange, at most once in kSearchLeast and in kSearchEpochsLeast epochs
//                          with the current choice: the search begins again
//
// Tried are the choices that differ from the current one either in the way or in the polling. A
// choice that is likely better is tried again until this is certain. Then come the choices without
// a result since the search began: first those that were better in an earlier search, then those
// that were never tried, in the order of their numbers.
//
// Bounds   At most one of kEpochsPerTrial epochs is a trial. The worse a trial was, the more epochs
//          with the current choice follow: its loss is at most kLossShare of their cost. It is at
//          most kLossShareLater while none of these choices remains that can be tried and was not
//          tried since the search began or the current choice changed.
//
// Source   Interleaved comparison with an A/A noise floor, as bench/ compares programs. Among
//          choices with results, the next one has the lowest confidence bound, as in UCB1 (Auer et
//          al., 2002).
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace hat::engine {

// The measurements of one epoch. All members are above 0.
struct EpochCost {
  double cost = 0;       // lower is better
  double bytes = 0;      // mean bytes of a call: request and reply
  double in_flight = 0;  // mean number of calls in flight
};

class Learner {
 public:
  using TimePoint = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
  using Pause = std::chrono::seconds;

  static constexpr uint32_t kEpochsPerTrial = 4;
  static constexpr double kLossShare = 0.1;
  static constexpr double kLossShareLater = 0.02;
  // The user ends a trial early whose cost is more than kLossMost times that of the current choice.
  // So a trial loses at most kLossMost - 1 epochs.
  static constexpr int kLossMost = 3;
  static constexpr uint32_t kTrialsMost = 12;
  static constexpr uint32_t kTrialsToWin = 4;
  static constexpr uint32_t kUnknownMost = 3;
  static constexpr double kWorth = 0.97;
  static constexpr double kSure = 2;
  static constexpr double kChange = 2;
  static constexpr Pause kSearchLeast{10};
  static constexpr uint32_t kSearchEpochsLeast = 200;
  static constexpr Pause kPauseMin{10};
  static constexpr Pause kPauseMax{640};

  // The results of the trials of one choice.
  struct Record {
    uint32_t trials = 0;   // with a known cost, since the choice was rejected or the search began
    uint32_t unknown = 0;  // trials in a row whose cost is unknown
    double sum = 0;        // of the results of `trials`
    double earlier = 0;    // the mean result before; 0: never tried
    double cost =
        0;  // of the last epochs with the choice, smoothed; 0: not measured in this search
    bool rejected = false;           // from the rejection until the next result
    bool put_off = false;            // from put_off() until the next result
    TimePoint retry_at{};            // not tried before, because it was rejected or put off
    TimePoint broken_until{};        // not tried before, because it broke calls
    Pause pause = kPauseMin;         // after the next rejection
    Pause broken_pause = kPauseMin;  // after the next time that it breaks calls
  };

  // Learns among `ways` × `pollings` choices, both at least 1. A choice is a number:
  // way · pollings + polling. `first` is the current choice at the beginning. Equal seeds give
  // equal decisions.
  Learner(size_t ways, size_t pollings, size_t first, uint64_t seed);

  // Makes `choice`, which was learned before, the current one. Call it before the first epoch.
  void begin_with(size_t choice);

  size_t current() const { return current_; }
  // Returns true if the current choice is the one with which the learner was made.
  bool is_at_first() const { return current_ == first_; }
  size_t way_of(size_t choice) const { return choice / pollings_; }
  size_t polling_of(size_t choice) const { return choice % pollings_; }

  // Returns the choice to try in the next epoch; nullopt if the current choice must be used.
  std::optional<size_t> due(TimePoint now) const;
  // Ends an epoch with the current choice. nullopt: its cost is unknown.
  void current_epoch(const std::optional<EpochCost>& measured, TimePoint now);
  // Ends a trial of `choice`. nullopt: its cost is unknown. The next epoch must be one with the
  // current choice.
  void trial(size_t choice, std::optional<double> cost, TimePoint now);
  // Puts off a choice that cannot be tried now, until a pause of kPauseMin has passed and no other
  // choice is due.
  void put_off(size_t choice, TimePoint now);
  // Records that a choice breaks calls: it is not tried for a pause, even if the search begins
  // again. The pause doubles each time, from kPauseMin to kPauseMax. If the choice is the current
  // one, the choice with which the learner began becomes the current one. Does nothing if `choice`
  // is that one, because calls need a choice.
  void give_up(size_t choice, TimePoint now);

  // Records that no call was made from `since` on for `time`: adds `time` to the pauses of rejected
  // choices that had not ended, so that a burst of calls does not begin with a new search. Choices
  // that break calls, or cannot be tried, wait in real time.
  void skip(TimePoint since, TimePoint::duration time);

  // Returns true if some choice is to be tried now or soon.
  bool searching() const;
  const Record& record(size_t choice) const { return records_[choice]; }
  // Returns the standard error of a single result, as a share of the cost.
  double noise() const;
  uint64_t changes() const { return changes_; }  // of the current choice
  uint64_t trials() const { return trials_; }    // of all choices

 private:
  struct Trial {
    size_t choice;
    double log_cost;
  };
  // The load, as logarithms, averaged over many epochs.
  struct Load {
    double cost;
    double bytes;
    double in_flight;
  };
  // When a choice is tried: the lower, the sooner.
  enum class Rank : uint8_t { kPromising, kUntried, kOpen, kPutOff };
  struct Turn {
    Rank rank;
    double value;
    auto operator<=>(const Turn&) const = default;
  };

  bool is_neighbor(size_t choice) const;
  bool may_try(size_t choice, TimePoint now) const;
  bool has_tried_all(TimePoint now) const;
  Turn turn(const Record& record) const;
  void note_cost(size_t choice, double cost);
  void note_noise(double log_cost);
  bool load_has_changed(const EpochCost& measured);
  void note_unknown(size_t choice, TimePoint now);
  void note_result(size_t choice, double result, TimePoint now);
  void rest_after_trial(double result, TimePoint now);
  void forget_results(Record& record);
  void reject(size_t choice, TimePoint now);
  void make_current(size_t choice, TimePoint now);
  void search_again(TimePoint now);

  size_t pollings_;
  size_t first_;
  size_t current_;
  std::vector<Record> records_;
  std::minstd_rand random_;
  uint32_t rest_;               // epochs with the current choice until the next trial
  std::vector<double> before_;  // ln of the costs of the last one or two current epochs
  std::optional<Trial> trial_;  // waits for the epoch after it
  double variance_;             // of a single result
  std::optional<Load> recent_;  // of the last few epochs
  std::optional<Load> usual_;   // of many epochs
  TimePoint searched_at_{};     // when the search last began
  uint32_t epochs_ = 0;         // with the current choice, since then
  uint64_t changes_ = 0;
  uint64_t trials_ = 0;
};

}  // namespace hat::engine
