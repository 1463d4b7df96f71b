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
  if (stopped_) {
    HAT_TRY_VOID(*stopped_);
    return fail(ErrorCode::kClosed, "the peer has ended the calibration");
  }
  if (!card_) return fail(ErrorCode::kUnavailable, "the peer does not answer");
  return *card_;
}

void CalibrationJob::finish(Result<void> end) {
  const std::lock_guard lock(mutex_);
  if (!finished_) finished_ = std::move(end);
}

std::optional<Result<void>> CalibrationJob::finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

void CalibrationJob::stop(Result<void> end) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_) stopped_ = std::move(end);
    changed_.notify_all();
  }
  stop_.request_stop();
}

std::optional<Error> CalibrationJob::stop_error() const {
  const std::lock_guard lock(mutex_);
  if (!stopped_ || stopped_->has_value()) return std::nullopt;
  return stopped_->error();
}

}  // namespace hat::engine
