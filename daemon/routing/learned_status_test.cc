// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/learned_status.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

LearnedStatus status(const char* peer, const char* choice, bool is_hinted = false) {
  LearnedStatus one;
  one.peer = peer;
  one.service = "HatKV";
  one.method = "get";
  one.choice = choice;
  one.is_hinted = is_hinted;
  return one;
}

TEST(CommonChoices, AreThoseOfMostWorkers) {
  const LearnedFunction to_b{"host-b", "HatKV", "get"};
  const LearnedFunction to_c{"host-c", "HatKV", "get"};
  struct Row {
    std::vector<LearnedStatus> all;
    LearnedChoices common;
  };
  for (const Row& row : {
           Row{{}, {}},
           Row{{status("host-b", "rfp, busy")}, {{to_b, "rfp, busy"}}},
           Row{{status("host-b", "rfp, busy"), status("host-b", "tcp, event"),
                status("host-b", "tcp, event")},
               {{to_b, "tcp, event"}}},
           Row{{status("host-b", "tcp, event"), status("host-b", "rfp, busy")},
               {{to_b, "tcp, event"}}},
           Row{{status("host-b", "the plan of the hints, busy", true),
                status("host-b", "the plan of the hints, busy", true),
                status("host-b", "rfp, busy"), status("host-c", "rfp, busy")},
               {{to_b, ""}, {to_c, "rfp, busy"}}},
       }) {
    EXPECT_EQ(common_choices(row.all), row.common);
  }
}

}  // namespace
}  // namespace hat
