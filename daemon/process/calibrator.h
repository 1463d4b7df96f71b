// SPDX-License-Identifier: Apache-2.0
// daemon/process/calibrator.h: measures what the fabric costs between this node and a peer, and
// answers peers that measure. It uses a thread and a fabric of its own, so that workers continue to
// carry calls.
//
// Bounds   One calibration at a time, as either side. It takes a few seconds, or kPatience if the
//          other side is silent.
// Thread   measure(), last() and stop(): the main thread; answer(): any worker's.
// Errors   Text for people. Once a calibration has begun, its error goes to last() and to the peer.
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

  // Begins a calibration and returns its number. Fails if none can begin now.
  Result<uint64_t> measure(const std::string& peer, OpenSession open_session);
  CalibrationReport last() const;
  // Ends the current calibration, waits for its thread, and allows no other.
  void stop();

  Result<std::shared_ptr<engine::CalibrationJob>> answer(const engine::CostOpen& open) override;

 private:
  // Runs `work` on the thread. Requires mutex_.
  Result<std::shared_ptr<engine::CalibrationJob>> begin(
      std::function<void(const std::shared_ptr<engine::CalibrationJob>&)> work);
  Result<ComponentCosts> measure_now(const OpenSession& open_session,
                                     const std::shared_ptr<engine::CalibrationJob>& job);
  Result<void> answer_now(const engine::CostOpen& open, engine::CalibrationJob& job);

  const std::string node_;
  const std::string device_;
  const engine::OpenFabric open_fabric_;           // opens a fabric like the workers'
  const int nice_ = getpriority(PRIO_PROCESS, 0);  // the main thread's
  mutable std::mutex mutex_;
  bool stopped_ = false;
  bool busy_ = false;
  std::shared_ptr<engine::CalibrationJob> job_;  // the current job; the last one if busy_ is false
  CalibrationReport last_;
  std::thread thread_;
};

}  // namespace hat
