// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/served_polling.h"

#include <algorithm>
#include <optional>

#include "engine/frame.h"

namespace hat {

Polling served_polling(const Route& route, uint8_t flags, WorkerCounters& counters) {
  const std::optional<Polling> asked = engine::polling_in(flags);
  if (!asked) return route.server.polling;
  const bool follows =
      std::ranges::find(route.served_pollings, *asked) != route.served_pollings.end();
  counters.asked_pollings[follows ? 0 : 1].add();
  return follows ? *asked : route.server.polling;
}

}  // namespace hat
