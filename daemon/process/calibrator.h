// SPDX-License-Identifier: Apache-2.0
// daemon/process/calibrator.h: measures the costs of the fabric between this node and a peer, and
// answers peers that measure. It uses its own thread and its own fabric, so that workers continue
// to carry calls.
//
// Bounds   At most one calibration at a time, whether this node measures or answers. A calibration
//          takes a few seconds, and fails if the peer is silent for kPatience.
// Thread   The main thread calls measure(), last() and stop(); any worker's thread calls answer().
// Errors   Texts for people. If a running calibration fails, last() reports the error, and the peer
//          gets it too.
#pragma once

#include <sys/resource.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/admin/control.h"
#include "engine/fabric/fabric.h"
#include "engine/link/calibration_session.h"

namespace hat {

class Calibrator final : public engine::CostAnswerer {
 public:
  static constexpr auto kPatience = std::chrono::seconds(10);

  // Opens a calibration session with the peer, on the link of any worker.
  using OpenSession =
      std::function<Result<void>(const engine::CostOpen&, std::shared_ptr<engine::CalibrationJob>)>;

  Calibrator(std::string node, std::string device, engine::OpenFabric open_fabric)
      : node_(std::move(node)), device_(std::move(device)), open_fabric_(std::move(open_fabric)) {}
  ~Calibrator() override { stop(); }

  // Begins a calibration with `peer` and returns the calibration's number. Fails if another is
  // running or the daemon stops.
  Result<uint64_t> measure(const std::string& peer, OpenSession open_session);
  CalibrationReport last() const;
  // Ends the current calibration, waits until its thread has ended, and makes later ones fail.
  void stop();

  Result<std::shared_ptr<engine::CalibrationJob>> answer(const engine::CostOpen& open) override;

 private:
  // Runs `work` on thread_. The caller must hold mutex_.
  Result<std::shared_ptr<engine::CalibrationJob>> begin(
      std::function<void(const std::shared_ptr<engine::CalibrationJob>&)> work);
  Result<ComponentCosts> measure_now(const OpenSession& open_session,
                                     const std::shared_ptr<engine::CalibrationJob>& job);
  Result<void> answer_now(const engine::CostOpen& open, engine::CalibrationJob& job);

  const std::string node_;
  const std::string device_;
  const engine::OpenFabric open_fabric_;           // opens a fabric of the kind that workers use
  const int nice_ = getpriority(PRIO_PROCESS, 0);  // the main thread's nice value
  mutable std::mutex mutex_;
  bool stopped_ = false;
  bool busy_ = false;
  std::shared_ptr<engine::CalibrationJob> job_;  // the last calibration; still runs if busy_
  CalibrationReport last_;
  std::thread thread_;
};

}  // namespace hat
