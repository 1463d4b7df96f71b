// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/cases.h: lists what a client checks; the same cases as in the other languages.
#pragma once

#include <thrift/transport/TTransport.h>

#include <functional>
#include <string>
#include <vector>

#include "ProbeOfTomorrow.h"
#include "tests/e2e/cpp/combination.h"
#include "tests/e2e/cpp/stack.h"

namespace probe_peer {

// An open client, and the combination that it was made from.
struct Session {
  const Combination& combination;
  ClientStack stack;
  probe::ProbeOfTomorrowClient client;

  explicit Session(const Combination& wanted)
      : combination(wanted), stack(make_client_stack(wanted)), client(stack.protocol) {
    stack.transport->open();
  }
  ~Session() { stack.transport->close(); }
  Session(const Session&) = delete;
};

struct Case {
  std::string name;
  std::function<void(Session&)> run;  // throws if the result is not as expected
};

// Returns the cases that this combination can run: HTTP has one request at a time, so no
// pipelining.
std::vector<Case> cases_for(const Combination& combination);

}  // namespace probe_peer
