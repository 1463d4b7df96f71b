// SPDX-License-Identifier: Apache-2.0
// engine/link/calibration_job.h: what a calibration session and the thread that measures or answers
// leave for each other, so that the reactor's thread never waits for that thread.
//
//   measuring thread                CalibrationSession                answering thread
//   await_card() ◀────── offer() ── kCostAccept ◀── card() ◀────────── offer()
//   finish() ──────── finished() ──▶ kCostClose
//                        stop() ◀── kCostClose, the link's end, too long ──▶ stop()
//
// Thread   any. It uses a lock, but is not on the path of a call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>

#include "base/result.h"
#include "engine/costs/target.h"

namespace hat::engine {

class CalibrationJob {
 public:
  // Stores the target's card; the first card stays. The answering thread calls it on the answering
  // side, and CalibrationSession calls it on the measuring side.
  void offer(const CostCard& card);
  std::optional<CostCard> card() const;
  // Blocks until there is a card. Returns an error if the job is stopped (with the reason), or if
  // no card is offered within `patience`.
  Result<CostCard> await_card(std::chrono::nanoseconds patience);

  // Records that the thread no longer needs the other side. `end` has the error if the measurement
  // or the answering failed. The first end stays.
  void finish(Result<void> end);
  std::optional<Result<void>> finished() const;

  // Records that the session is over, and requests the thread to end soon. `end` has the error if
  // the session did not end as it should. The first end stays.
  void stop(Result<void> end);
  std::stop_token stop_token() const { return stop_.get_token(); }
  // Returns why the session failed; nullopt if the session is running or ended as it should.
  std::optional<Error> stop_error() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::stop_source stop_;
  std::optional<CostCard> card_;
  std::optional<Result<void>> finished_;
  std::optional<Result<void>> stopped_;
};

}  // namespace hat::engine
