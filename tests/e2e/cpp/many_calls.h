// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/many_calls.h: checks connections that carry more than one call at a time.
#pragma once

#include "tests/e2e/cpp/cases.h"

namespace probe_peer {

// Sends 50 calls, all with sequence id 0, before it reads the first answer. Answers must arrive in
// order.
void pipelined(Session& session);

// Does the same with sequence ids of its own, also negative ones: each must return with its answer.
void own_seqids(Session& session);

// Lets eight threads share one connection through the generated concurrent client, which matches
// answers by sequence id and name.
void concurrent(Session& session);

}  // namespace probe_peer
