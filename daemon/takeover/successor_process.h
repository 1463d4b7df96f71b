// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/successor_process.h: starts the successor: the program at the path from which
// this process was started, as it is on disk now, with the same arguments and --takeover.
//
// The new process therefore stays in the service's control group, with its user, its limits and its
// environment.
#pragma once

#include "base/descriptor.h"
#include "base/result.h"

namespace hat {

struct SuccessorProcess {
  int pid = 0;
  Descriptor end{};  // as from pidfd_open(2): readable when the process has ended
};

// Starts the new process. It is a child of this process's parent, so the service manager that
// started this process learns when the new process ends. The new process inherits only the
// descriptors 0, 1 and 2, and none of the environment variables that systemd meant only for this
// process. All signals are blocked in it until it unblocks them. Fails if this process has PID 1
// (as in a container): its end would also kill the new process.
Result<SuccessorProcess> spawn_successor();

}  // namespace hat
