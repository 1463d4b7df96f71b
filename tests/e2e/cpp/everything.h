// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/everything.h: two values of the struct Everything (probe.thrift): one has all
// fields set, and one has all fields empty or zero.
#pragma once

#include "probe_types.h"

namespace probe_peer {

probe::Everything full_everything();
probe::Everything empty_everything();

}  // namespace probe_peer
