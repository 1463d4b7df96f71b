// SPDX-License-Identifier: Apache-2.0
// daemon/process/calibrator.h: measures what the fabric costs between this node and a peer, and
// answers peers that measure: on a thread and a fabric of its own, so that workers go on carrying
// calls.
//
// Bounds   one at a time, of either kind; a few seconds, kPatience where the other side is silent.
// Thread   measure(), last() and stop(): the main thread's; answer(): any worker's.
// Errors   in words; of what has begun, in last() and to the peer.
#pragma once

#include <sys/resource.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/admin/control.h"
#include "engine/fabric/fabric.h"
#include "engine/link/cost_talk.h"

namespace hat {

class Calibrator final : public engine::CostAnswerer {
 public:
  static constexpr auto kPatience = std::chrono::seconds(10);

  // Opens a talk with the peer, on whichever worker.
  using OpenTalk =
      std::function<Result<void>(const engine::CostOpen&, std::shared_ptr<engine::CostJob>)>;

  Calibrator(std::string node, std::string device, engine::OpenFabric open_fabric)
      : node_(std::move(node)), device_(std::move(device)), open_fabric_(std::move(open_fabric)) {}
  ~Calibrator() override { stop(); }

  // Begins; the calibration's number. Error: it cannot now.
  Result<uint64_t> measure(const std::string& peer, OpenTalk open_talk);
  CalibrationReport last() const;
  // Ends what goes on, waits for it, and begins nothing any more.
  void stop();

  Result<std::shared_ptr<engine::CostJob>> answer(const engine::CostOpen& open) override;

 private:
  // Runs `work` on the thread; with mutex_ held.
  Result<std::shared_ptr<engine::CostJob>> begin(
      std::function<void(const std::shared_ptr<engine::CostJob>&)> work);
  Result<ComponentCosts> measure_now(const OpenTalk& open_talk,
                                     const std::shared_ptr<engine::CostJob>& job);
  Result<void> answer_now(const engine::CostOpen& open, engine::CostJob& job);

  const std::string node_;
  const std::string device_;
  const engine::OpenFabric open_fabric_;           // one like the workers' own
  const int nice_ = getpriority(PRIO_PROCESS, 0);  // the main thread's
  mutable std::mutex mutex_;
  bool stopped_ = false;
  bool busy_ = false;
  std::shared_ptr<engine::CostJob> job_;  // the thread's, the last one's where it is not busy
  CalibrationReport last_;
  std::thread thread_;
};

}  // namespace hat
