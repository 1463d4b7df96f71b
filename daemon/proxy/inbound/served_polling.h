// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/served_polling.h: chooses the polling mode in which the worker waits while
// it serves a call of a peer.
//
// The mode is that of this node's plan. A client's daemon that learns (`plan: learned`) asks for
// the mode that it tries, or has found better, in the flags of the kCall frame. This node follows
// only if its own hints allow the mode (pollings_to_ask_for()), because busy polling can occupy a
// core of this host.
//
// Thread   the worker's.
#pragma once

#include <cstdint>

#include "config/hints.h"
#include "daemon/metrics/counters.h"
#include "daemon/routing/routing_table.h"

namespace hat {

// Returns the polling mode for a call whose kCall frame has these flags. Counts a call that asks.
Polling served_polling(const Route& route, uint8_t flags, WorkerCounters& counters);

}  // namespace hat
