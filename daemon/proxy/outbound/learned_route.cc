// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/learned_route.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>
#include <vector>

#include "base/check.h"

namespace hat {

namespace {

const char* measures(const std::optional<PerfGoal>& goal) {
  if (!goal) return "mean time of a call";
  switch (*goal) {
    case PerfGoal::kLatency:
      return "geometric mean of p50 and p99";
    case PerfGoal::kThroughput:
      return "time between two calls";
    case PerfGoal::kResUtil:
      return "processor time of a call";
  }
  return "";
}

}  // namespace

LearnedRoute::LearnedRoute(std::shared_ptr<const LearnedPlan> plan, uint64_t seed,
                           std::string_view kept)
    : plan_(std::move(plan)), seed_(seed), learner_(learner_for(*plan_, seed)) {
  const std::optional<size_t> choice = plan_->find(kept);
  began_with_kept_ = choice.has_value();
  if (choice) learner_.begin_with(*choice);
}

engine::Learner LearnedRoute::learner_for(const LearnedPlan& plan, uint64_t seed) {
  return {plan.ways.size(), plan.pollings.size(), plan.first_polling, seed};
}

void LearnedRoute::set_plan(std::shared_ptr<const LearnedPlan> plan) {
  const bool same = plan_->has_choices_of(*plan);
  plan_ = std::move(plan);
  if (same) return;
  began_with_kept_ = false;
  learner_ = learner_for(*plan_, seed_);
  strayed_epochs_ = 0;
  opening_.reset();
  epoch_ = {.number = epoch_.number + 1};
  closing_.reset();
  begin_anew();
}

// Lets the next call begin a new epoch, and forgets the mean time of a call.
void LearnedRoute::begin_anew() {
  mean_ns_ = 0;
  epoch_.must_restart = true;
}

// --- Calls ---

LearnedRoute::Choice LearnedRoute::begin(const Reactor& reactor, TrialLanes& lanes) {
  const TimePoint now = reactor.now();
  const bool paused = in_flight_ == 0 && now - busy_until_ > kPauseMost;
  if (paused) learner_.skip(busy_until_, now - busy_until_);
  ++in_flight_;
  busy_until_ = now;
  if (paused || epoch_.must_restart) {
    discard_epochs(reactor);
  } else if (is_over(now)) {
    end_epoch(reactor, lanes);
  } else if (!epoch_.measures && now >= epoch_.measures_from) {
    start_measuring(reactor, lanes);
  }
  if (epoch_.measures) {
    ++epoch_.begun;
    ++epoch_.open;
    epoch_.open_since += (now - epoch_.measures_from).count();
  }
  return make_choice(epoch_.trial.value_or(learner_.current()),
                     {epoch_.number, epoch_.trial.has_value(), epoch_.measures});
}

LearnedRoute::Choice LearnedRoute::current() const { return make_choice(learner_.current(), {}); }

LearnedRoute::Choice LearnedRoute::make_choice(size_t choice, const Part& part) const {
  return {&plan_->ways[learner_.way_of(choice)], plan_->polling_of(choice), part};
}

void LearnedRoute::end(const Part& part, TimePoint began, TimePoint now, uint64_t bytes,
                       bool as_chosen) {
  if (part.epoch == 0) return;
  const auto ns = static_cast<uint64_t>(std::max<int64_t>((now - began).count(), 1));
  if (part.is_trial && part.epoch == epoch_.number) note_trial_call(static_cast<double>(ns));
  Epoch* of = measured_epoch(part);
  drop(part, began, now);
  if (of == nullptr) return;
  of->strayed = of->strayed || !as_chosen;
  of->bytes += bytes;
  times_.record(ns);
}

void LearnedRoute::drop(const Part& part, TimePoint began, TimePoint now) {
  if (part.epoch == 0) return;
  busy_until_ = now;
  DCHECK_GT(in_flight_, 0u);
  --in_flight_;
  Epoch* of = measured_epoch(part);
  if (of == nullptr) return;
  DCHECK_GT(of->open, 0u);
  --of->open;
  of->open_since -= (began - of->measures_from).count();
}

void LearnedRoute::on_lane_failed(const LaneKey& key, const engine::CoreCounts& server,
                                  TimePoint now, TrialLanes& lanes) {
  const size_t before = learner_.current();
  for (size_t choice = 0; choice < plan_->choices(); ++choice) {
    const LearnedWay& way = plan_->ways[learner_.way_of(choice)];
    const bool uses = way.plan.path == Path::kRdma &&
                      (way.lanes.small.at(server) == key || way.lanes.large.at(server) == key);
    if (!uses) continue;
    learner_.give_up(choice, now);
    epoch_.must_restart = epoch_.must_restart || epoch_.trial == choice;
  }
  if (learner_.current() == before) return;
  begin_anew();
  lanes.release(plan_->ways[learner_.way_of(before)]);
}

// Returns the epoch whose measurement includes the call; null if there is none, or if the epoch was
// closed. While an epoch waits to be closed, the next one does not measure yet.
LearnedRoute::Epoch* LearnedRoute::measured_epoch(const Part& part) {
  Epoch& measuring = closing_ ? closing_->epoch : epoch_;
  return part.is_measured && part.epoch == measuring.number ? &measuring : nullptr;
}

// Ends a trial whose calls take much longer, including those of its first third. The longest call
// does not count, however long it takes.
void LearnedRoute::note_trial_call(double ns) {
  constexpr uint64_t kCallsToJudge = 4;
  const double most = engine::Learner::kLossMost * mean_ns_ * kCallsToJudge;
  ++epoch_.trial_calls;
  epoch_.trial_ns += std::min(ns, most);
  epoch_.longest_ns = std::max(epoch_.longest_ns, std::min(ns, most));
  const auto others = static_cast<double>(std::max(epoch_.trial_calls - 1, kCallsToJudge));
  const double others_ns = epoch_.trial_ns - epoch_.longest_ns;
  epoch_.too_slow = epoch_.too_slow || others_ns > engine::Learner::kLossMost * mean_ns_ * others;
}

// Returns how many times as long as with the current choice the calls of the trial that is being
// closed took, without the longest call.
double LearnedRoute::trial_loss() const {
  const Epoch& trial = closing_->epoch;
  const auto others = static_cast<double>(std::max<uint64_t>(trial.trial_calls - 1, 1));
  return (trial.trial_ns - trial.longest_ns) / others / mean_ns_;
}

// --- Epochs ---

bool LearnedRoute::is_over(TimePoint now) const {
  if (epoch_.too_slow) return true;
  if (!epoch_.measures || now < epoch_.ends_at) return false;
  return epoch_.begun >= kCallsLeast || now >= epoch_.ends_at_latest;
}

void LearnedRoute::start_epoch(std::optional<size_t> trial, const Reactor& reactor) {
  const Duration wanted{static_cast<int64_t>(mean_ns_ * kLatenciesPerEpoch)};
  const Duration length = std::clamp(wanted, kEpochLeast, kEpochMost);
  const TimePoint now = reactor.now();
  epoch_ = {.number = epoch_.number + 1,
            .trial = trial,
            .measures_from = now + length / 3,
            .ends_at = now + length,
            .ends_at_latest = now + kEpochLast};
}

void LearnedRoute::start_measuring(const Reactor& reactor, TrialLanes& lanes) {
  const TimePoint now = reactor.now();
  const size_t before = learner_.current();
  close(now, lanes);
  if (learner_.current() != before) return start_epoch(std::nullopt, reactor);
  times_ = {};
  epoch_.ends_at += now - epoch_.measures_from;  // calls may begin long after `measures_from`
  epoch_.measures_from = now;
  epoch_.measures = true;
  epoch_.cpu_from = reactor.cpu_time();
}

void LearnedRoute::end_epoch(const Reactor& reactor, TrialLanes& lanes) {
  const TimePoint now = reactor.now();
  close(now, lanes);  // a trial that was too slow may end before the epoch before it is closed
  closing_ = Closing{epoch_, now, reactor.cpu_time() - epoch_.cpu_from};
  start_epoch(epoch_.trial ? std::nullopt : next_trial(now, lanes), reactor);
}

// Begins a new epoch with the current choice, after a pause that makes all times meaningless.
void LearnedRoute::discard_epochs(const Reactor& reactor) {
  const TimePoint now = reactor.now();
  if (closing_ && closing_->epoch.trial) learner_.trial(*closing_->epoch.trial, std::nullopt, now);
  closing_.reset();
  if (epoch_.trial) learner_.trial(*epoch_.trial, std::nullopt, now);
  learner_.current_epoch(std::nullopt, now);
  start_epoch(std::nullopt, reactor);
}

// Gives the result of the epoch before to the learner.
void LearnedRoute::close(TimePoint now, TrialLanes& lanes) {
  if (!closing_) return;
  const std::optional<engine::EpochCost> result = measured(now);
  const Closing closed = *std::exchange(closing_, std::nullopt);
  if (closed.epoch.trial) {
    const size_t choice = *closed.epoch.trial;
    return learner_.trial(choice, result ? std::optional(result->cost) : std::nullopt, now);
  }
  const size_t before = learner_.current();
  if (result) note_mean(times_.mean_ns());
  strayed_epochs_ = closed.epoch.strayed ? strayed_epochs_ + 1 : 0;
  if (strayed_epochs_ == 1) strayed_since_ = now;
  learner_.current_epoch(result, now);
  // Has no effect on the plan of the hints, which is measured as it is from now on.
  if (learner_.current() == before && strayed_epochs_ >= kStrayedMost &&
      now - strayed_since_ >= kOpenMost) {
    learner_.give_up(before, now);
  }
  if (learner_.current() == before) return;
  mean_ns_ = 0;
  strayed_epochs_ = 0;
  lanes.release(plan_->ways[learner_.way_of(before)]);
}

void LearnedRoute::note_mean(double ns) {
  constexpr double kWeight = 0.25;  // of the last epoch, against all before
  mean_ns_ = mean_ns_ == 0 ? ns : mean_ns_ + kWeight * (ns - mean_ns_);
}

// Returns the cost of the epoch that is being closed; nullopt if it has none.
std::optional<engine::EpochCost> LearnedRoute::measured(TimePoint now) {
  const Epoch& epoch = closing_->epoch;
  if (epoch.too_slow) {  // as a part of the current choice's cost, because it may not be measured
    return engine::EpochCost{.cost = learner_.record(learner_.current()).cost * trial_loss()};
  }
  const uint64_t ended = times_.count();
  const bool may_stray = !epoch.trial && learner_.is_at_first() && strayed_epochs_ >= kStrayedMost;
  if (!epoch.measures || ended < kCallsLeast || (epoch.strayed && !may_stray)) return std::nullopt;
  const auto window_ns = static_cast<double>((closing_->ended_at - epoch.measures_from).count());
  if (window_ns <= 0) return std::nullopt;
  count_open_calls(now);
  const double mean_ns = times_.mean_ns();
  const auto begun = static_cast<double>(times_.count());
  double cost = mean_ns;
  if (plan_->goal == PerfGoal::kLatency) {
    cost = std::sqrt(times_.quantile_ns(0.5) * times_.quantile_ns(0.99));
  } else if (plan_->goal == PerfGoal::kThroughput) {
    cost = window_ns / begun;
  } else if (plan_->goal == PerfGoal::kResUtil) {
    cost = static_cast<double>(closing_->cpu.count()) / begun;
  }
  const auto bytes = static_cast<double>(epoch.bytes) / static_cast<double>(ended);
  return engine::EpochCost{.cost = std::max(cost, 1.0),
                           .bytes = std::max(bytes, 1.0),
                           .in_flight = mean_ns * begun / window_ns};
}

// Counts the calls of the epoch that have not ended as if each had begun at their mean beginning,
// and ended now.
void LearnedRoute::count_open_calls(TimePoint now) {
  const Epoch& epoch = closing_->epoch;
  if (epoch.open == 0) return;
  const Duration began{epoch.open_since / static_cast<int64_t>(epoch.open)};
  const auto age = static_cast<uint64_t>((now - epoch.measures_from - began).count());
  for (uint64_t i = 0; i < epoch.open; ++i) times_.record(age);
}

// Returns the choice to try in the next epoch, if its lanes are up.
std::optional<size_t> LearnedRoute::next_trial(TimePoint now, TrialLanes& lanes) {
  const std::optional<size_t> due = mean_ns_ == 0 ? std::nullopt : learner_.due(now);
  if (!due) return std::nullopt;
  if (opening_ != due) {
    opening_ = due;
    opening_since_ = now;
  }
  const auto readiness = lanes.prepare(plan_->ways[learner_.way_of(*due)]);
  const bool waits =
      readiness == TrialLanes::Readiness::kOpening && now - opening_since_ <= kOpenMost;
  if (waits) return std::nullopt;
  opening_.reset();
  if (readiness == TrialLanes::Readiness::kUp) return due;
  learner_.put_off(*due, now);
  return std::nullopt;
}

// --- For hatctl ---

LearnedStatus LearnedRoute::status() const {
  LearnedStatus status{
      .choice = plan_->name(learner_.current()),
      .to_keep = learner_.is_at_first() ? "" : plan_->kept_name(learner_.current()),
      .is_kept = began_with_kept_ && learner_.changes() == 0,
      .searching = learner_.searching(),
      .trials = learner_.trials(),
      .changes = learner_.changes(),
      .noise = learner_.noise(),
      .measures = measures(plan_->goal)};
  const auto cost_of = [&](size_t choice) { return learner_.record(choice).cost; };
  std::vector<size_t> measured;
  for (size_t choice = 0; choice < plan_->choices(); ++choice) {
    if (cost_of(choice) != 0) measured.push_back(choice);
  }
  std::ranges::sort(measured, {}, [&](size_t choice) {
    return std::pair(choice != learner_.current(), cost_of(choice));
  });
  for (const size_t choice : measured | std::views::take(kCostsMost + 1)) {
    status.costs.push_back({plan_->name(choice), cost_of(choice)});
  }
  return status;
}

}  // namespace hat
