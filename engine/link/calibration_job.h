// SPDX-License-Identifier: Apache-2.0
// engine/link/calibration_job.h: passes data between two threads of a daemon during a calibration
// session, in which two daemons measure the costs of RDMA between them. One thread performs the
// RDMA operations: it measures, or answers the daemon that measures. The other thread is the
// reactor's, which runs CalibrationSession and never waits for the first thread. A "card"
// (CostCard) describes the queue pairs and the memory of one side. The diagram shows the calls on a
// job and the frames between the daemons:
//
//   measuring thread                CalibrationSession                answering thread
//   await_card() ◀────── offer() ── kCostAccept ◀── card() ◀────────── offer()
//   finish() ──────── finished() ──▶ kCostClose
//                        stop() ◀── kCostClose, the link's end, time-out ──▶ stop()
//
// Thread   Any thread may call a job, which uses a lock. No Thrift call waits for that lock.
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
  // Stores the card of the answering side, and wakes await_card(). Ignores any later card. On the
  // answering side, the answering thread calls this function; on the measuring side,
  // CalibrationSession does.
  void offer(const CostCard& card);
  // Returns the stored card, if there is one.
  std::optional<CostCard> card() const;
  // Waits for a card and returns it. Returns an error with the reason if the job is stopped, or an
  // error if no card is stored within `patience`.
  Result<CostCard> await_card(std::chrono::nanoseconds patience);

  // Records that the thread that measures or answers has finished. `end` has the error if the
  // thread failed. Only the first call counts.
  void finish(Result<void> end);
  std::optional<Result<void>> finished() const;

  // Records that the calibration session is over, and requests the thread that measures or answers
  // to end soon. `end` has the error if the session failed. Only the first `end` is kept.
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
