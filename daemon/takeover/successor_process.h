// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/successor_process.h: starts the program that this process was started from, as it
// is on disk now, with the same arguments and --takeover: an upgrade that stays in the service's
// control group, with its user, its limits and its environment.
#pragma once

#include "base/descriptor.h"
#include "base/result.h"

namespace hat {

struct SuccessorProcess {
  int pid = 0;
  Descriptor end{};  // pidfd_open(2): readable when it has ended
};

// The new process. It is no child of this one but of this one's parent, so that a service manager
// hears of its end as it would of this one's. It has none of this one's descriptors but 0, 1 and 2,
// no variables that systemd meant for this process alone, and all signals blocked, as long as it
// does not unblock them. Not from process 1, whose end would end the new one too.
Result<SuccessorProcess> spawn_successor();

}  // namespace hat
