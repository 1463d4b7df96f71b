// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/calibrator.h"

#include <glog/logging.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <system_error>
#include <utility>

#include "engine/costs/initiator.h"
#include "engine/costs/measure.h"

namespace hat {
namespace {

using engine::CalibrationJob;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// Returns success if `work` has a value. Otherwise returns the error that ended the session, if
// there is one: it is the cause of the error in `work`. Otherwise returns the error in `work`.
template <class T>
Result<void> end_of(const CalibrationJob& job, const Result<T>& work) {
  if (work) return {};
  if (auto error = job.stop_error()) return std::unexpected(std::move(*error));
  return std::unexpected(work.error());
}

std::string text_of(const Result<void>& end) { return end ? "" : end.error().message; }

// Waits until the session ends, but not longer than `at_most`. On a `loop` fabric, the peer reads
// the last answer from this side's memory, which must exist until the peer ends the session.
void stay_until_stopped(const CalibrationJob& job, std::chrono::nanoseconds at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (!job.stop_token().stop_requested() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(engine::CalibrationSession::kPollInterval);
  }
}

}  // namespace

Result<std::shared_ptr<CalibrationJob>> Calibrator::begin(
    std::function<void(const std::shared_ptr<CalibrationJob>&)> work) {
  if (stopped_) return fail(ErrorCode::kUnavailable, "node " + node_ + " is shutting down");
  if (busy_)
    return fail(ErrorCode::kBusy,
                "another calibration is running at node " + node_ + "; try again in a few seconds");
  if (thread_.joinable()) thread_.join();  // the last calibration has ended
  const auto job = std::make_shared<CalibrationJob>();
  const auto run = [this, job, work = std::move(work)] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the main thread handles signals
    // Sets the main thread's nice value: this thread inherits that of begin()'s caller, which can
    // be a worker with another value.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nice_);
    work(job);
    const std::lock_guard lock(mutex_);
    busy_ = false;
  };
  try {
    thread_ = std::thread(run);
  } catch (const std::system_error& error) {  // for example at the process's limit of threads
    return fail(ErrorCode::kExhausted,
                "node " + node_ + " cannot start a thread for the calibration: " + error.what());
  }
  busy_ = true;  // the new thread resets busy_ later, because this thread still holds mutex_
  job_ = job;
  pthread_setname_np(thread_.native_handle(), "calibrate");
  return job;
}

void Calibrator::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (busy_) job_->stop(fail(ErrorCode::kUnavailable, "node " + node_ + " is shutting down"));
  }
  if (thread_.joinable()) thread_.join();
}

CalibrationReport Calibrator::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

// --- The side that measures ---

Result<uint64_t> Calibrator::measure(const std::string& peer, OpenSession open_session) {
  const std::lock_guard lock(mutex_);
  const auto work = [this, peer, open_session = std::move(open_session)](const auto& job) {
    auto costs = measure_now(open_session, job);
    const Result<void> end = end_of(*job, costs);
    job->finish(end);
    LOG(INFO) << "calibration with peer " << peer << (end ? ": done" : ": failed: ")
              << text_of(end);
    if (costs && !costs->no_calls.empty()) {
      LOG(WARNING) << "calibration with peer " << peer
                   << ": calls were not measured: " << costs->no_calls;
    }
    const std::lock_guard own(mutex_);
    last_.state = costs ? CalibrationReport::State::kDone : CalibrationReport::State::kFailed;
    last_.error = text_of(end);
    if (costs) last_.profile = Profile{node_, peer, device_, utc_now(), std::move(*costs)};
  };
  HAT_TRY_VOID(begin(work));
  last_ = {.number = last_.number + 1, .state = CalibrationReport::State::kRunning, .peer = peer};
  return last_.number;
}

Result<ComponentCosts> Calibrator::measure_now(const OpenSession& open_session,
                                               const std::shared_ptr<CalibrationJob>& job) {
  HAT_TRY(const auto fabric, open_fabric_());
  HAT_TRY(const auto initiator,
          engine::Initiator::create(*fabric, {.patience = kPatience, .stop = job->stop_token()}));
  HAT_TRY_VOID(open_session({fabric->reach(), initiator->card()}, job));
  HAT_TRY(const engine::CostCard card, job->await_card(kPatience));
  HAT_TRY_VOID(initiator->connect(card));
  return engine::measure_costs(*initiator, {.stop = job->stop_token()});
}

// --- The side that answers ---

Result<std::shared_ptr<CalibrationJob>> Calibrator::answer(const engine::CostOpen& open) {
  const std::lock_guard lock(mutex_);
  return begin([this, open](const auto& job) {
    const auto answered = answer_now(open, *job);
    const Result<void> end = end_of(*job, answered);
    job->finish(end);
    LOG(INFO) << (end ? "a peer has calibrated with this node"
                      : "a peer's calibration with this node failed: ")
              << text_of(end);
  });
}

Result<void> Calibrator::answer_now(const engine::CostOpen& open, CalibrationJob& job) {
  HAT_TRY(const auto fabric, open_fabric_());
  if (const std::string reach = fabric->reach(); open.reach != reach) {
    return fail(ErrorCode::kUnsupported,
                "the fabrics do not reach each other: '" + open.reach + "' and '" + reach + "'");
  }
  HAT_TRY(const auto target, engine::Target::create(*fabric, {}));
  HAT_TRY(const engine::CostCard card, target->add(open.card));
  job.offer(card);
  HAT_TRY_VOID(engine::answer_costs(*target, kPatience, job.stop_token()));
  stay_until_stopped(job, kPatience);
  return {};
}

}  // namespace hat
