// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/many_calls.h: checks connections that carry more than one call at a time.
#pragma once

#include "tests/e2e/cpp/cases.h"

namespace probe_peer {

// 50 calls are sent, all with sequence id 0, before the first answer is read: they come in order.
void pipelined(Session& session);

// The same with sequence ids of our own, negative ones included: each comes back with its answer.
void own_seqids(Session& session);

// Eight threads share one connection through the generated concurrent client, which matches answers
// by sequence id and name.
void concurrent(Session& session);

}  // namespace probe_peer
