// SPDX-License-Identifier: Apache-2.0
// engine/plan/prediction.h: predicts how long a message takes with a given leg (a way to move one
// message over RDMA), and how long a call takes with a given protocol (a leg for requests and a leg
// for replies). A prediction adds up the measured costs of the leg's operations (component costs).
//
// The model assumes two hosts that do nothing else and one message at a time. Therefore a
// prediction shows how legs differ, but not how a loaded host behaves. The model counts one copy of
// the payload for every leg, although a zero-copy send does not copy the payload.
//
// Source   docs/protocols.md section 3 (the operations); RDMA vs. RPC (Brock et al.), section III
//          (cost as a sum of component operations)
#pragma once

#include <cstdint>

#include "config/hints.h"
#include "engine/costs/cost_curve.h"
#include "engine/protocols.h"

namespace hat::engine {

// Returns the nanoseconds that a message of `bytes` takes from its sender to its receiver. With
// Polling::kEvent, the time includes a wake-up each time that one side waits for the other side.
// With any other polling, the model assumes that both sides poll, so no wake-up is included.
double message_ns(const ComponentCosts& costs, Leg leg, uint64_t bytes, Polling polling);

// Returns the nanoseconds that a call takes whose request and reply have `bytes` each. If one SEND
// cannot hold `bytes`, the protocol's leg for messages that do not fit a slot replaces the leg
// `send`. For all other legs, the model assumes that a slot can hold `bytes`.
double call_ns(const ComponentCosts& costs, ProtocolId id, uint64_t bytes, Polling polling);

// Returns the message size in bytes up to which `small`, which uses slots, is worth its copy and
// its memory. The result is the largest power of two at which a call by `large`, which uses a
// rendezvous (the two sides agree on a buffer for each message), takes more than kRendezvousWorth
// times as long as a call by `small`. The result is at least 512 B and at most 64 KiB, because
// longer messages travel in pieces of 64 KiB. If `small` uses SENDs, the result is also at most the
// payload of one SEND.
inline constexpr double kRendezvousWorth = 1.25;
uint64_t border_bytes(const ComponentCosts& costs, ProtocolId small, ProtocolId large,
                      Polling polling);

}  // namespace hat::engine
