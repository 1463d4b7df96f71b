// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/trial_lanes.h: the lanes of one link, for the trials of `plan: learned`.
#pragma once

#include <cstdint>

#include "daemon/routing/learned_plan.h"

namespace hat {

class TrialLanes {
 public:
  virtual ~TrialLanes() = default;
  enum class Readiness : uint8_t {  // in this order: two lanes are as ready as the less ready one
    kUp,
    kOpening,  // ask again later
    kUnable,   // the lanes cannot be opened now
  };
  // Returns whether the lanes of `way` are up. Begins to open the lanes that do not exist.
  virtual Readiness prepare(const LearnedWay& way) = 0;
  // Records that calls of the function no longer use the lanes of `way`, except in trials.
  virtual void release(const LearnedWay& way) = 0;
};

}  // namespace hat
