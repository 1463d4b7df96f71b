// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/everything.h: fills each field of Everything, or leaves each at zero.
#pragma once

#include "probe_types.h"

namespace probe_peer {

probe::Everything full_everything();
probe::Everything empty_everything();

}  // namespace probe_peer
