// SPDX-License-Identifier: Apache-2.0
#include "engine/link/calibration_job.h"

namespace hat::engine {

void CalibrationJob::offer(const CostCard& card) {
  const std::lock_guard lock(mutex_);
  if (!card_) card_ = card;
  changed_.notify_all();
}

std::optional<CostCard> CalibrationJob::card() const {
  const std::lock_guard lock(mutex_);
  return card_;
}

Result<CostCard> CalibrationJob::await_card(std::chrono::nanoseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return card_ || stopped_; });
  if (stopped_) return fail(*stopped_);
  if (!card_) return fail("the peer does not answer");
  return *card_;
}

void CalibrationJob::finish(std::string why) {
  const std::lock_guard lock(mutex_);
  if (!finished_) finished_ = std::move(why);
}

std::optional<std::string> CalibrationJob::finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

void CalibrationJob::stop(std::string why) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_) stopped_ = std::move(why);
    changed_.notify_all();
  }
  stop_.request_stop();
}

std::string CalibrationJob::stopped_why() const {
  const std::lock_guard lock(mutex_);
  return stopped_.value_or("");
}

}  // namespace hat::engine
