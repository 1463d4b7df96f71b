// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/served_polling.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "engine/frame.h"

namespace hat {
namespace {

using enum Polling;

TEST(ServedPolling, IsTheOneThatWasAskedForIfTheHintsAllowIt) {
  struct Row {
    const char* what;
    std::optional<Polling> asked;
    std::vector<Polling> allowed;
    Polling served;
    uint64_t followed;
    uint64_t not_allowed;
  };
  const std::vector<Row> rows = {
      {"nothing asked", std::nullopt, {kBusy, kEvent, kAdaptive}, kEvent, 0, 0},
      {"busy", kBusy, {kBusy, kEvent, kAdaptive}, kBusy, 1, 0},
      {"adaptive", kAdaptive, {kEvent, kAdaptive}, kAdaptive, 1, 0},
      {"the plan's own", kEvent, {kEvent, kAdaptive}, kEvent, 1, 0},
      {"busy is too much", kBusy, {kEvent, kAdaptive}, kEvent, 0, 1},
      {"nothing allowed", kAdaptive, {}, kEvent, 0, 1},
      {"the plan's own, nothing allowed", kEvent, {}, kEvent, 1, 0},
  };
  for (const Row& row : rows) {
    Route route{.service = "Kv", .method = "get"};
    route.server.polling = kEvent;
    route.served_pollings = row.allowed;
    WorkerCounters counters;
    const uint8_t flags = engine::kLastPiece | engine::polling_flags(row.asked);
    EXPECT_EQ(served_polling(route, flags, counters), row.served) << row.what;
    const auto asked = [&](AskedPolling result) {
      return counters.asked_pollings[static_cast<size_t>(result)].value();
    };
    EXPECT_EQ(asked(AskedPolling::kFollowed), row.followed) << row.what;
    EXPECT_EQ(asked(AskedPolling::kNotAllowed), row.not_allowed) << row.what;
  }
}

}  // namespace
}  // namespace hat
