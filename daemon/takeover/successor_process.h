// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/successor_process.h: starts the successor, the process that replaces this daemon.
// The successor runs the file that is now at the path from which this process was started (a newer
// version, for example), with the same arguments and --takeover.
//
// Because this daemon starts the successor itself, the successor stays in the control group of the
// service, and keeps its user, limits and environment.
#pragma once

#include "base/descriptor.h"
#include "base/result.h"

namespace hat {

struct SuccessorProcess {
  int pid = 0;
  Descriptor end{};  // a pidfd, as from pidfd_open(2): readable when the process has ended
};

// Starts the new process. Its parent is the parent of this process, so the service manager that
// started this process is notified when the new process ends. The new process inherits only the
// descriptors 0, 1 and 2. It does not get the environment variables that systemd set for this
// process alone. All signals are blocked in the new process until that process unblocks them. Fails
// if this process has PID 1 (as in a container), because the end of PID 1 would also kill the new
// process.
Result<SuccessorProcess> spawn_successor();

}  // namespace hat
