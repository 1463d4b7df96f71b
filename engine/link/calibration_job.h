// SPDX-License-Identifier: Apache-2.0
// engine/link/calibration_job.h: passes data between two threads of a daemon during a calibration
// session, in which two daemons measure the costs of RDMA between them. One thread performs the
// RDMA operations: it measures, or answers the daemon that measures. The other is the reactor's
// thread, which runs CalibrationSession and never waits for the first thread. A "card" (CostCard)
// describes the queue pairs and the memory of one side. The diagram shows the calls on a job and
// the frames between the daemons:
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
#include <string>

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

  // Records that the measuring thread no longer needs the other side. `why` is the error that ended
  // the measurement, or empty if the measurement succeeded.
  void finish(std::string why);
  // Returns the `why` of finish(), or nullopt if finish() was not called yet.
  std::optional<std::string> finished() const;

  // Records that the session is over, and requests the measuring or answering thread to end soon.
  // If the job is stopped again, the first `why` is kept.
  void stop(std::string why);
  std::stop_token stop_token() const { return stop_.get_token(); }
  // Returns the `why` of stop(): the reason, or empty if the session ended without an error or has
  // not been stopped.
  std::string stopped_why() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::stop_source stop_;
  std::optional<CostCard> card_;
  std::optional<std::string> finished_;
  std::optional<std::string> stopped_;
};

}  // namespace hat::engine
