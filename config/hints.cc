// SPDX-License-Identifier: Apache-2.0
#include "config/hints.h"

namespace hat {
namespace {

template <class T>
void lay(std::optional<T>& stronger, const std::optional<T>& weaker) {
  if (!stronger) stronger = weaker;
}

}  // namespace

Hints overlay(const Hints& stronger, const Hints& weaker) {
  Hints hints = stronger;
  lay(hints.perf_goal, weaker.perf_goal);
  lay(hints.concurrency, weaker.concurrency);
  lay(hints.payload_bytes, weaker.payload_bytes);
  lay(hints.polling, weaker.polling);
  lay(hints.protocol, weaker.protocol);
  lay(hints.transport, weaker.transport);
  lay(hints.plan, weaker.plan);
  lay(hints.numa, weaker.numa);
  lay(hints.priority, weaker.priority);
  lay(hints.timeout, weaker.timeout);
  lay(hints.idempotent, weaker.idempotent);
  return hints;
}

HintGroups overlay(const HintGroups& stronger, const HintGroups& weaker) {
  return {overlay(stronger.both, weaker.both), overlay(stronger.client, weaker.client),
          overlay(stronger.server, weaker.server)};
}

Hints effective(const HintGroups& function, const HintGroups& service, Side side) {
  const auto of = [side](const HintGroups& groups) {
    return overlay(side == Side::kClient ? groups.client : groups.server, groups.both);
  };
  return overlay(of(function), of(service));
}

}  // namespace hat
