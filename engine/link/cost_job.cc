// SPDX-License-Identifier: Apache-2.0
#include "engine/link/cost_job.h"

namespace hat::engine {

void CostJob::offer(const CostCard& card) {
  const std::lock_guard lock(mutex_);
  if (!card_) card_ = card;
  changed_.notify_all();
}

std::optional<CostCard> CostJob::card() const {
  const std::lock_guard lock(mutex_);
  return card_;
}

Result<CostCard> CostJob::await_card(std::chrono::nanoseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return card_ || stopped_; });
  if (stopped_) return fail(*stopped_);
  if (!card_) return fail("the peer does not answer");
  return *card_;
}

void CostJob::finish(std::string why) {
  const std::lock_guard lock(mutex_);
  if (!finished_) finished_ = std::move(why);
}

std::optional<std::string> CostJob::finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

void CostJob::stop(std::string why) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_) stopped_ = std::move(why);
    changed_.notify_all();
  }
  stop_.request_stop();
}

std::string CostJob::stopped_why() const {
  const std::lock_guard lock(mutex_);
  return stopped_.value_or("");
}

}  // namespace hat::engine
