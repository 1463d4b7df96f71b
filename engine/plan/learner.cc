// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace hat::engine {
namespace {

constexpr double kNoiseAtFirst = 0.1;  // standard error of a result, before any was measured
constexpr double kNoiseLeast = 0.01;
// The weights of a new value in an average of the values before.
constexpr double kNoiseWeight = 1.0 / 16;
constexpr double kCostWeight = 1.0 / 4;
constexpr double kRecentWeight = 1.0 / 4;
constexpr double kUsualWeight = 1.0 / 64;
// An epoch that was disturbed from outside can cost many times more. One such result must not
// outweigh many others.
constexpr double kResultMost = 1.5;

// Returns how many epochs with the current choice make a trial's loss this share of their cost.
uint32_t rest_for(double loss, double share) {
  return static_cast<uint32_t>(std::ceil(loss / share));
}

}  // namespace

Learner::Learner(size_t ways, size_t pollings, size_t first, uint64_t seed)
    : pollings_(pollings),
      first_(first),
      current_(first),
      records_(ways * pollings),
      random_(static_cast<std::minstd_rand::result_type>(seed)),
      rest_(kEpochsPerTrial - 1),
      variance_(kNoiseAtFirst * kNoiseAtFirst) {
  CHECK_LT(first, records_.size());
}

void Learner::begin_with(size_t choice) {
  CHECK_LT(choice, records_.size());
  DCHECK(trials_ == 0 && before_.empty()) << "an epoch has ended";
  current_ = choice;
}

// --- The next epoch ---

bool Learner::is_neighbor(size_t choice) const {
  return choice != current_ &&
         (way_of(choice) == way_of(current_) || polling_of(choice) == polling_of(current_));
}

double Learner::noise() const { return std::max(std::sqrt(variance_), kNoiseLeast); }

bool Learner::may_try(size_t choice, TimePoint now) const {
  const Record& record = records_[choice];
  return is_neighbor(choice) && now >= record.retry_at && now >= record.broken_until;
}

Learner::Turn Learner::turn(const Record& record) const {
  if (record.put_off) return {Rank::kPutOff, record.earlier};
  if (record.trials == 0 || record.rejected) return {Rank::kUntried, record.earlier};
  const double trials = record.trials;
  const double mean = record.sum / trials;
  const double error = noise() / std::sqrt(trials);
  if (mean + error < std::log(kWorth)) return {Rank::kPromising, mean};
  return {Rank::kOpen, mean - kSure * error};
}

std::optional<size_t> Learner::due(TimePoint now) const {
  if (rest_ != 0 || trial_ || before_.empty()) return std::nullopt;
  std::optional<size_t> best;
  for (size_t choice = 0; choice < records_.size(); ++choice) {
    if (!may_try(choice, now)) continue;
    if (!best || turn(records_[choice]) < turn(records_[*best])) best = choice;
  }
  return best;
}

// Returns true if no choice remains that can be tried now, and was not tried since the search began
// or the current choice changed.
bool Learner::has_tried_all(TimePoint now) const {
  for (size_t choice = 0; choice < records_.size(); ++choice) {
    const Record& record = records_[choice];
    if (record.trials == 0 && !record.rejected && may_try(choice, now)) return false;
  }
  return true;
}

bool Learner::searching() const {
  for (size_t choice = 0; choice < records_.size(); ++choice) {
    const Record& record = records_[choice];
    if (is_neighbor(choice) && !record.rejected && !record.put_off) return true;
  }
  return false;
}

// --- Epochs with the current choice ---

void Learner::current_epoch(const std::optional<EpochCost>& measured, TimePoint now) {
  if (rest_ != 0) --rest_;
  ++epochs_;
  const std::optional<Trial> trial = std::exchange(trial_, std::nullopt);
  if (!measured) {  // a trial needs a known cost before and after it
    before_.clear();
    if (trial) note_unknown(trial->choice, now);
    return;
  }
  DCHECK(measured->cost > 0 && measured->bytes > 0 && measured->in_flight > 0);
  const double log_cost = std::log(measured->cost);
  if (load_has_changed(*measured) && now - searched_at_ >= kSearchLeast &&
      epochs_ >= kSearchEpochsLeast) {
    search_again(now);
    before_.clear();
  }
  note_cost(current_, measured->cost);
  if (!trial || before_.empty()) return note_noise(log_cost);
  const double result = trial->log_cost - (before_.back() + log_cost) / 2;
  before_ = {log_cost};
  note_result(trial->choice, result, now);
}

void Learner::note_cost(size_t choice, double cost) {
  double& average = records_[choice].cost;
  average = average == 0 ? cost : average + kCostWeight * (cost - average);
}

void Learner::note_noise(double log_cost) {
  if (before_.size() == 2) {
    const double sample =
        std::clamp(before_[1] - (before_[0] + log_cost) / 2, -kResultMost, kResultMost);
    variance_ += kNoiseWeight * (sample * sample - variance_);
    before_.erase(before_.begin());
  }
  before_.push_back(log_cost);
}

// Adds an epoch to the averages of the load. Returns true if the last few epochs differ from many
// epochs before.
bool Learner::load_has_changed(const EpochCost& measured) {
  const Load load{std::log(measured.cost), std::log(measured.bytes), std::log(measured.in_flight)};
  if (!recent_) {
    recent_ = usual_ = load;
    return false;
  }
  const double most = std::max(std::log(kChange), kSure * noise());
  bool has_changed = false;
  for (double Load::*member : {&Load::cost, &Load::bytes, &Load::in_flight}) {
    double& recent = (*recent_).*member;
    double& usual = (*usual_).*member;
    recent += kRecentWeight * (load.*member - recent);
    usual += kUsualWeight * (load.*member - usual);
    has_changed = has_changed || std::abs(recent - usual) > most;
  }
  return has_changed;
}

// --- Trials ---

void Learner::trial(size_t choice, std::optional<double> cost, TimePoint now) {
  DCHECK_LT(choice, records_.size());
  ++trials_;
  // The length of the pause between two trials is random, so that a load which changes with a fixed
  // period does not always favor the same choice.
  rest_ = kEpochsPerTrial - 1 + static_cast<uint32_t>(random_() % 2);
  // If the current choice has changed since the trial began, there is nothing to compare with.
  if (choice == current_) return;
  if (!cost || before_.empty()) return note_unknown(choice, now);
  DCHECK_GT(*cost, 0);
  note_cost(choice, *cost);
  trial_ = Trial{choice, std::log(*cost)};
}

void Learner::note_unknown(size_t choice, TimePoint now) {
  Record& record = records_[choice];
  if (++record.unknown >= kUnknownMost) reject(choice, now);
}

void Learner::note_result(size_t choice, double result, TimePoint now) {
  Record& record = records_[choice];
  if (record.rejected) forget_results(record);  // it is tried again after its pause
  record.rejected = record.put_off = false;
  record.unknown = 0;
  ++record.trials;
  record.sum += std::clamp(result, -kResultMost, kResultMost);
  rest_after_trial(result, now);
  const double trials = record.trials;
  const double mean = record.sum / trials;
  const double error = noise() / std::sqrt(trials);
  if (record.trials >= kTrialsToWin && mean + kSure * error < std::log(kWorth)) {
    return make_current(choice, now);
  }
  if (mean - error > 0 || record.trials >= kTrialsMost) reject(choice, now);
}

// Delays the next trial until the loss of this one is at most the allowed share of the cost of the
// epochs with the current choice between them.
void Learner::rest_after_trial(double result, TimePoint now) {
  const double loss = std::min(std::exp(result), double{kLossMost}) - 1;  // in epochs
  const double share = has_tried_all(now) ? kLossShareLater : kLossShare;
  if (loss > 0) rest_ = std::max(rest_, rest_for(loss, share));
}

void Learner::put_off(size_t choice, TimePoint now) {
  records_[choice].put_off = true;
  records_[choice].retry_at = now + kPauseMin;
}

void Learner::give_up(size_t choice, TimePoint now) {
  if (choice == first_) return;
  if (trial_ && trial_->choice == choice) trial_.reset();
  Record& record = records_[choice];
  const TimePoint retry_at = record.rejected ? record.retry_at : TimePoint{};
  if (choice == current_) {
    make_current(first_, now);  // rejects it
  } else {
    reject(choice, now);
  }
  record.retry_at = retry_at;  // only trials that it lost, and `broken_until`, delay the next one
  record.broken_until = now + record.broken_pause;
  record.broken_pause = std::min(record.broken_pause * 2, kPauseMax);
}

void Learner::skip(TimePoint since, TimePoint::duration time) {
  for (Record& record : records_) {
    if (record.rejected && !record.put_off && record.retry_at > since) record.retry_at += time;
  }
}

void Learner::reject(size_t choice, TimePoint now) {
  Record& record = records_[choice];
  record.rejected = true;
  record.unknown = 0;
  record.retry_at = now + record.pause;
  record.pause = std::min(record.pause * 2, kPauseMax);
}

void Learner::forget_results(Record& record) {
  if (record.trials != 0) record.earlier = record.sum / record.trials;
  record.trials = 0;
  record.sum = 0;
}

// Rejects the choice before, as if it had lost trials. So two equally good choices replace each
// other ever more rarely.
void Learner::make_current(size_t choice, TimePoint now) {
  reject(current_, now);
  current_ = choice;
  records_[choice].rejected = records_[choice].put_off = false;
  ++changes_;
  before_.clear();
  trial_.reset();
  recent_.reset();  // its cost is that of the choice before
  usual_.reset();
  for (Record& record : records_) forget_results(record);  // they compare with the choice before
}

void Learner::search_again(TimePoint now) {
  searched_at_ = now;
  epochs_ = 0;
  rest_ = std::min(rest_, rest_for(kLossMost - 1, kLossShare));
  usual_ = recent_;
  for (Record& record : records_) {
    record.rejected = record.put_off = false;
    record.retry_at = {};
    record.pause = kPauseMin;
    record.cost = 0;  // of another load
    forget_results(record);
  }
}

}  // namespace hat::engine
