// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/cases.h: the test cases of the C++ client. The clients in other languages have the
// same cases.
#pragma once

#include <thrift/transport/TTransport.h>

#include <functional>
#include <string>
#include <vector>

#include "ProbeOfTomorrow.h"
#include "tests/e2e/cpp/combination.h"
#include "tests/e2e/cpp/stack.h"

namespace probe_peer {

// A connected client of the test service, and the combination of address, transport and protocol
// that the client uses.
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

// Returns the cases that `combination` can run. HTTP carries one request at a time, so cases with
// several calls in flight are left out for HTTP.
std::vector<Case> cases_for(const Combination& combination);

}  // namespace probe_peer
