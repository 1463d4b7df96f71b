// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/fake_call_record.h: the record of a call with all its times, for tests of the
// formats in which the daemon shows it.
#pragma once

#include <chrono>

#include "daemon/metrics/call_record.h"

namespace hat {

// Returns the record of a call that was answered after 100 ms: it waited 10 ms, was 16 ms between
// the hosts, waited 24 ms at the server's host, and was 40 ms in the server; its reply took 10 ms.
inline CallRecord answered_call(FunctionCounters& counters) {
  using std::chrono::milliseconds;
  return {.counters = &counters,
          .took = milliseconds(100),
          .waited = milliseconds(10),
          .answered = milliseconds(80),
          .there = engine::ServedTimes{milliseconds(64), milliseconds(24)},
          .peer = "host-b",
          .request_bytes = 7,
          .reply_bytes = 9,
          .way = {Carrier::kTcp, Carrier::kTcp}};
}

}  // namespace hat
