// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/successor_process.h: starts the successor, the process that replaces this daemon.
// The successor runs the file that is now at this process's start path (for example a newer
// version), with the same arguments and --takeover.
//
// This daemon itself starts the successor, so that the successor stays in the control group of the
// systemd service, and keeps its user, limits and environment.
#pragma once

#include "base/descriptor.h"
#include "base/result.h"

namespace hat {

struct SuccessorProcess {
  int pid = 0;
  Descriptor end{};  // a pidfd (pidfd_open(2)): readable when the process has ended
};

// Starts the successor and returns it. Fails if this process has PID 1 (as in a container), because
// the end of PID 1 would also kill the successor. The successor
//   - has the same parent as this process, so that the service manager sees its end
//   - inherits only the descriptors 0, 1 and 2
//   - does not inherit the environment variables that systemd set for this process alone
//   - starts with all signals blocked
Result<SuccessorProcess> spawn_successor();

}  // namespace hat
