// SPDX-License-Identifier: Apache-2.0
// engine/link/cost_job.h: what a talk about component costs and the thread that measures or answers
// leave for each other: neither waits for the other on the reactor's thread.
//
//   measuring thread                talk (engine/link/cost_talk.h)     answering thread
//   await_card() ◀────── offer() ── kCostAccept ◀── card() ◀────────── offer()
//   finish() ──────── finished() ──▶ kCostClose
//                        stop() ◀── kCostClose, the link's end, too long ──▶ stop()
//
// Thread   any; a lock, on no call's path.
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

class CostJob {
 public:
  // The target's card: from the thread that answers, or, where one measures, from the talk.
  void offer(const CostCard& card);
  std::optional<CostCard> card() const;
  // Blocks. Errors: why it was stopped, or that nobody has offered one for so long.
  Result<CostCard> await_card(std::chrono::nanoseconds patience);

  // The thread is done with the other side; empty: as it should be.
  void finish(std::string why);
  std::optional<std::string> finished() const;

  // The talk is over: the thread is to leave soon. The first reason stays.
  void stop(std::string why);
  std::stop_token stop_token() const { return stop_.get_token(); }
  std::string stopped_why() const;  // empty: it was not, or as it should be

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::stop_source stop_;
  std::optional<CostCard> card_;
  std::optional<std::string> finished_;
  std::optional<std::string> stopped_;
};

}  // namespace hat::engine
