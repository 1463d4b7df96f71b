// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/many_calls.h: test cases with several unanswered calls on one connection.
#pragma once

#include "tests/e2e/cpp/cases.h"

namespace probe_peer {

// Sends 50 calls with the sequence id 0 before it reads the first answer. Checks that the answers
// arrive in the order of the calls.
void pipelined(Session& session);

// Sends 50 calls with different sequence ids, some of them negative, before it reads the first
// answer. Checks that each answer has the sequence id of its call.
void own_seqids(Session& session);

// Makes calls from several threads over one connection. Uses Thrift's generated concurrent client,
// which matches answers to calls by sequence id.
void concurrent(Session& session);

}  // namespace probe_peer
