// SPDX-License-Identifier: Apache-2.0
#include "kv/server/tuning.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "kv/limits.h"

namespace hat {
namespace {

using std::chrono::microseconds;

constexpr microseconds kThroughputPatience{500};
constexpr microseconds kResUtilPatience{2000};
constexpr std::array<std::string_view, 3> kReading = {"get", "multiget", "scan"};

Hints hints_of(const ServiceSpec& service, std::string_view function) {
  const auto found = std::ranges::find(service.functions, function, &FunctionSpec::name);
  const HintGroups none;
  return effective(found == service.functions.end() ? none : found->hints, service.hints,
                   Side::kServer);
}

uint32_t readers_for(const Concurrency& concurrency, uint32_t cores) {
  if (const auto* callers = std::get_if<uint32_t>(&concurrency)) {
    return std::clamp(*callers, cores, kReadersMax);
  }
  return std::get<Subscription>(concurrency) == Subscription::kOver ? 4 * cores : cores;
}

microseconds patience_for(const Hints& hints) {
  switch (hints.perf_goal.value_or(PerfGoal::kLatency)) {
    case PerfGoal::kThroughput:
      return kThroughputPatience;
    case PerfGoal::kResUtil:
      return kResUtilPatience;
    case PerfGoal::kLatency:
      break;
  }
  return microseconds(0);
}

std::string describe_patience(std::string_view function, microseconds patience) {
  if (patience.count() == 0) return std::string(function) + " commits at once";
  return std::string(function) + " waits up to " + std::to_string(patience.count()) +
         " µs for other writes";
}

}  // namespace

Tuning tune(const ServiceSpec& service, uint32_t cores) {
  Tuning tuning;
  uint32_t readers = 0;
  for (const std::string_view function : kReading) {
    const Hints hints = hints_of(service, function);
    if (hints.concurrency) readers = std::max(readers, readers_for(*hints.concurrency, cores));
  }
  if (readers != 0) tuning.readers = readers;
  tuning.put_patience = patience_for(hints_of(service, "put"));
  tuning.multiput_patience = patience_for(hints_of(service, "multiput"));
  tuning.remove_patience = patience_for(hints_of(service, "remove"));
  return tuning;
}

Result<Tuning> read_tuning(const std::string& manifest_path, uint32_t cores) {
  Diagnostics diagnostics;
  const Manifest manifest = load_manifests({{manifest_path, {}}}, diagnostics);
  if (diagnostics.any_errors())
    return fail(ErrorCode::kInvalid, "the manifest has errors:\n" + diagnostics.text());
  const auto found = std::ranges::find(manifest.services, "HatKV", &ServiceSpec::name);
  if (found == manifest.services.end()) {
    return fail(
        ErrorCode::kInvalid,
        manifest_path +
            ": this manifest has no service HatKV; `hintgen kv/hatkv.thrift` writes one that does");
  }
  return tune(*found, cores);
}

std::string describe(const Tuning& tuning) {
  return "readers " + std::to_string(tuning.readers) + "; " +
         describe_patience("put", tuning.put_patience) + "; " +
         describe_patience("multiput", tuning.multiput_patience) + "; " +
         describe_patience("remove", tuning.remove_patience);
}

}  // namespace hat
