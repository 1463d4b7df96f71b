// SPDX-License-Identifier: Apache-2.0
// bench/model/host.h: a modelled host with its network card.
#pragma once

#include "bench/model/card.h"
#include "bench/model/machine.h"

namespace hat::model {

struct Host {
  Host(Schedule& schedule, const Hardware& hardware)
      : machine(schedule, hardware, hardware.cores) {}
  Machine machine;
  Card card;
};

}  // namespace hat::model
