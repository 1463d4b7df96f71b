// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/served_polling.h"

#include <algorithm>
#include <optional>

#include "engine/frame.h"

namespace hat {

Polling served_polling(const Route& route, uint8_t flags, WorkerCounters& counters) {
  const std::optional<Polling> asked = engine::polling_in(flags);
  if (!asked) return route.server.polling;
  const auto& allowed = route.served_pollings;
  const bool follows =
      *asked == route.server.polling || std::ranges::find(allowed, *asked) != allowed.end();
  const AskedPolling result = follows ? AskedPolling::kFollowed : AskedPolling::kNotAllowed;
  counters.asked_pollings[static_cast<size_t>(result)].add();
  return follows ? *asked : route.server.polling;
}

}  // namespace hat
