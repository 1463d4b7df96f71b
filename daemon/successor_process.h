// daemon/successor_process.h: starts the program that this process was started from, as it is on
// disk now, with the same arguments and --takeover: an upgrade that stays in the service's control
// group, with its user, its limits and its environment.
#pragma once

#include "base/result.h"

namespace hat {

// The new process, a child of this one. It has none of this one's descriptors but 0, 1 and 2, and
// no variables that systemd meant for this process alone.
Result<int> spawn_successor();

}  // namespace hat
