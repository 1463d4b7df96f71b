// SPDX-License-Identifier: Apache-2.0
// engine/plan/prediction.h: what a message would take by a leg or a protocol, from measured
// component costs. Pure: a table of operations per leg, and sums.
//
// It knows two hosts that do nothing else and one message at a time: what differs between legs, not
// what a loaded host does. A payload that is lent is not copied; it counts as copied all the same,
// by every leg alike.
//
// Source   docs/protocols.md section 3 (the operations); RDMA vs. RPC (Brock et al.), section III
//          (cost as a sum of component operations)
#pragma once

#include <cstdint>

#include "config/hints.h"
#include "engine/costs/cost_curve.h"
#include "engine/protocols.h"

namespace hat::engine {

// Nanoseconds from its sender to its receiver. kEvent: every time that one side waits for the
// other, it has to be woken; else it is looking.
double message_ns(const ComponentCosts& costs, Leg leg, uint64_t bytes, Polling polling);

// A request and its answer, both of so many bytes; in slots where the legs allow it.
double call_ns(const ComponentCosts& costs, ProtocolId id, uint64_t bytes, Polling polling);

// Up to which size slots are worth their copy and their memory: the largest power of two at which
// the rendezvous `large` takes more than kRendezvousWorth times what `small` takes; 512 B to 64 KiB
// (longer messages travel in pieces of that), and never more than a slot of that leg holds.
inline constexpr double kRendezvousWorth = 1.25;
uint64_t border_bytes(const ComponentCosts& costs, ProtocolId small, ProtocolId large,
                      Polling polling);

}  // namespace hat::engine
