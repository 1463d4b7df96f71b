// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/learned_status.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

LearnedStatus status(const char* peer, const char* to_keep, uint64_t trials) {
  LearnedStatus one;
  one.peer = peer;
  one.service = "HatKV";
  one.method = "get";
  one.choice = "of no effect";
  one.to_keep = to_keep;
  one.trials = trials;
  return one;
}

TEST(CommonChoices, AreThoseOfTheWorkersThatHaveTriedTheMost) {
  const LearnedFunction to_b{"host-b", "HatKV", "get"};
  const LearnedFunction to_c{"host-c", "HatKV", "get"};
  struct Row {
    std::vector<LearnedStatus> all;
    LearnedChoices common;
  };
  for (const Row& row : {
           Row{{}, {}},
           Row{{status("host-b", "rfp, busy", 1)}, {{to_b, "rfp, busy"}}},
           Row{{status("host-b", "rfp, busy", 0)}, {}},
           Row{{status("host-b", "rfp, busy", 5), status("host-b", "tcp, event", 3),
                status("host-b", "tcp, event", 4)},
               {{to_b, "tcp, event"}}},
           Row{{status("host-b", "tcp, event", 5), status("host-b", "rfp, busy", 5)},
               {{to_b, "tcp, event"}}},
           Row{{status("host-b", "", 4), status("host-b", "", 4), status("host-b", "rfp, busy", 7),
                status("host-c", "rfp, busy", 1)},
               {{to_b, ""}, {to_c, "rfp, busy"}}},
           Row{{status("host-b", "", 0), status("host-b", "", 0), status("host-b", "rfp, busy", 1)},
               {{to_b, "rfp, busy"}}},
       }) {
    EXPECT_EQ(common_choices(row.all), row.common);
  }
}

}  // namespace
}  // namespace hat
