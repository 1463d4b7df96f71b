// SPDX-License-Identifier: Apache-2.0
// engine/plan/prediction.h: predicts the time of a message by leg and of a call by protocol, from
// measured component costs. Pure: a table of operations per leg, and sums.
//
// The model has two hosts that do nothing else and one message at a time: it shows how legs differ,
// not how a loaded host behaves. A zero-copy send copies no payload, but the model counts the copy
// all the same, for every leg alike.
//
// Source   docs/protocols.md section 3 (the operations); RDMA vs. RPC (Brock et al.), section III
//          (cost as a sum of component operations)
#pragma once

#include <cstdint>

#include "config/hints.h"
#include "engine/costs/cost_curve.h"
#include "engine/protocols.h"

namespace hat::engine {

// Returns the nanoseconds from the sender to the receiver. kEvent: each time that one side waits
// for the other, a wake-up is added; otherwise both sides poll.
double message_ns(const ComponentCosts& costs, Leg leg, uint64_t bytes, Polling polling);

// Returns the nanoseconds of a request and its reply, both of `bytes`; in slots if the legs allow
// it.
double call_ns(const ComponentCosts& costs, ProtocolId id, uint64_t bytes, Polling polling);

// Returns the size up to which slots are worth their copy and their memory: the largest power of
// two at which the rendezvous `large` takes more than kRendezvousWorth times as long as `small`.
// The result is from 512 B to 64 KiB (longer messages travel in pieces of that size), and never
// exceeds what a slot of `small` holds.
inline constexpr double kRendezvousWorth = 1.25;
uint64_t border_bytes(const ComponentCosts& costs, ProtocolId small, ProtocolId large,
                      Polling polling);

}  // namespace hat::engine
