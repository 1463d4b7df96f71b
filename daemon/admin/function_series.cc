// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/function_series.h"

#include <glog/logging.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "daemon/metrics/function_totals.h"

namespace hat {
namespace {

using Type = MetricFamilies::Type;

// One function that has been called on `side`, or the sum of several functions of a service. Only
// such functions have series: a manifest can name thousands of functions, and one host calls a few
// of them.
struct CalledFunction {
  const FunctionMetrics* function;  // null: a sum
  std::string_view service;
  std::string_view method;
  Side side;
  FunctionTotals totals;

  const char* side_name() const { return kSideNames[static_cast<size_t>(side)]; }
};
using CalledFunctions = std::vector<CalledFunction>;

CalledFunctions called_functions(Control& control) {
  CalledFunctions called;
  std::map<std::pair<std::string_view, Side>, FunctionTotals> sums;
  const size_t most = control.node().admin.functions_max;
  for (FunctionMetrics& function : control.functions().all()) {
    for (const Side side : kSides) {
      if (!was_called(function, side)) continue;
      const auto group = side == Side::kClient ? SeriesGroup::kClient : SeriesGroup::kServer;
      if (control.functions().series().has_own(function, function.method, group, most)) {
        called.push_back(
            {&function, function.service, function.method, side, total(function, side)});
      } else {
        sums[{function.service, side}].add(total(function, side));
      }
    }
  }
  for (auto& [of, sum] : sums) {
    called.push_back({nullptr, of.first, kSummedMethod, of.second, std::move(sum)});
  }
  return called;
}

void add_calls(MetricFamilies& page, const CalledFunctions& called) {
  page.begin("hatrpc_requests_total", "Calls that ended, by outcome.", Type::Counter);
  for (const CalledFunction& one : called) {
    for (size_t i = 0; i < one.totals.outcomes.size(); ++i) {
      page.add({{"side", one.side_name()},
                {"thrift_method", one.method},
                {"thrift_service", one.service},
                {"outcome", kCallOutcomeNames[i]}},
               one.totals.outcomes[i]);
    }
  }
  const auto add = [&](const char* name, const char* help, Type type, const auto& value) {
    page.begin(name, help, type);
    for (const CalledFunction& one : called) {
      page.add({{"side", one.side_name()},
                {"thrift_method", one.method},
                {"thrift_service", one.service}},
               value(one.totals));
    }
  };
  add("hatrpc_requests_in_flight", "Calls that have not ended yet.", Type::Gauge,
      [](const FunctionTotals& totals) { return totals.in_flight(); });
  add("hatrpc_request_bytes_total", "Bytes of requests carried.", Type::Counter,
      [](const FunctionTotals& totals) { return totals.request_sizes.sum; });
  add("hatrpc_response_bytes_total", "Bytes of replies carried.", Type::Counter,
      [](const FunctionTotals& totals) { return totals.reply_sizes.sum; });
}

// Returns `used`, and without calls the ways of complete calls by which the function's plans and
// TCP carry them to a server on a host with `cores`. These ways have series before they are used,
// because PromQL's increase() ignores the first value of a new series.
std::vector<WayCount> with_planned(std::vector<WayCount> used, const Route* route,
                                   const engine::CoreCounts& cores) {
  const bool oneway = route != nullptr && route->oneway;
  std::vector<CallWay> planned = {{Carrier::kTcp, oneway ? Carrier::kNone : Carrier::kTcp}};
  const auto add = [&](const CallPlan& client) {
    if (client.plan.path != Path::kRdma) return;
    const Carrier reply = oneway ? Carrier::kNone : carrier(client.lanes.small.at(cores).response);
    planned.push_back({carrier(client.plan.small), reply});
    planned.push_back({carrier(client.plan.large), reply});
  };
  if (route != nullptr) {
    add(route->client);
    for (const auto& [peer, client] : route->client_to) add(client);
  }
  for (const CallWay& way : planned) {
    if (std::ranges::find(used, way, &WayCount::way) == used.end()) used.push_back({way, 0});
  }
  return used;
}

// Adds the calls of each function by what carried them, and its fallbacks by reason. Only the
// daemon on the client's side counts these, because it chooses between RDMA and TCP.
void add_ways(MetricFamilies& page, Control& control, const CalledFunctions& called) {
  page.begin("hatrpc_calls_total",
             "Calls of the client's side that were sent and have ended, by the protocols that "
             "carried request and reply, and the fabric.",
             Type::Counter);
  const auto routes = control.routes();
  const std::string fabric = control.fabric_label();
  for (const CalledFunction& one : called) {
    if (one.side != Side::kClient) continue;
    const ServiceRoutes* service = one.function ? routes->find(one.function->service) : nullptr;
    const Route* route = service ? &service->find(one.function->method) : nullptr;
    for (const auto& [way, count] : with_planned(one.totals.ways, route, routes->cores())) {
      page.add({{"fabric", way.request == Carrier::kTcp ? "tcp" : fabric},
                {"request_protocol", name(way.request)},
                {"reply_protocol", name(way.reply)},
                {"thrift_method", one.method},
                {"thrift_service", one.service}},
               count);
    }
  }
  page.begin("hatrpc_retries_total", "How often calls were sent again after a failure.",
             Type::Counter);
  for (const CalledFunction& one : called) {
    if (one.side != Side::kClient) continue;
    page.add({{"thrift_method", one.method}, {"thrift_service", one.service}}, one.totals.retries);
  }
  page.begin("hatrpc_fallbacks_total",
             "Calls that used TCP although their plan requests RDMA, by reason.", Type::Counter);
  for (const CalledFunction& one : called) {
    if (one.side != Side::kClient) continue;
    for (size_t i = 0; i < one.totals.fallbacks.size(); ++i) {
      page.add({{"reason", kFallbackNames[i]},
                {"thrift_method", one.method},
                {"thrift_service", one.service}},
               one.totals.fallbacks[i]);
    }
  }
}

// Adds the durations of calls, in the buckets that admin.duration_buckets chooses among those that
// the workers count.
void add_durations(MetricFamilies& page, const DurationBuckets& chosen,
                   const CalledFunctions& called) {
  page.begin("hatrpc_request_duration_seconds",
             "Time from a call's first byte to its reply's last byte, as seen by this daemon.",
             Type::Histogram);
  for (const CalledFunction& one : called) {
    const auto& latency = one.totals.latency;
    auto& shown = page.add_histogram(
        {{"side", one.side_name()}, {"thrift_method", one.method}, {"thrift_service", one.service}},
        chosen.count() + 1);
    auto bucket = shown.bucket.begin();
    uint64_t count = 0;
    for (size_t i = 0; i < kDurationBounds; ++i) {
      count += latency.buckets[i];
      const std::chrono::duration<double> bound = duration_bound(i);
      if (chosen[i]) *bucket++ = {count, bound.count()};
    }
    shown.sample_count = count + latency.buckets[kDurationBounds];
    *bucket = {shown.sample_count, std::numeric_limits<double>::infinity()};
    shown.sample_sum = static_cast<double>(latency.sum) / 1e9;
  }
}

void add_plans(MetricFamilies& page, Control& control, const CalledFunctions& called) {
  page.begin("hatrpc_route_info", "The plan of a called function, as a label; always 1.",
             Type::Gauge);
  const auto routes = control.routes();
  for (const CalledFunction& one : called) {
    if (one.function == nullptr) continue;
    const ServiceRoutes* service = routes->find(one.function->service);
    if (service == nullptr) continue;
    const Route& route = service->find(one.function->method);
    if (route.method != one.function->method) continue;  // a reload has removed the function
    const engine::Plan& plan = one.side == Side::kClient ? route.client.plan : route.server;
    page.add({{"plan", describe(plan)},
              {"side", one.side_name()},
              {"thrift_method", one.method},
              {"thrift_service", one.service}},
             uint64_t{1});
  }
}

// Adds the number of calls that an `allow` rule has denied. Only the daemon on the server's side
// has these counts, because it checks the rules. A function with a rule has its series before its
// first call: that call can be denied, and PromQL's increase() ignores the first value of a new
// series.
void add_denials(MetricFamilies& page, Control& control) {
  using Denied = std::array<uint64_t, 2>;
  constexpr std::array kModes = {"enforce", "dry_run"};
  page.begin("hatrpc_authz_denied_total",
             "Calls of functions that `allow` denies to the peer, by mode.", Type::Counter);
  const auto add = [&](std::string_view service, std::string_view method, const Denied& counts) {
    for (size_t i = 0; i < counts.size(); ++i) {
      page.add({{"mode", kModes[i]}, {"thrift_method", method}, {"thrift_service", service}},
               counts[i]);
    }
  };
  std::map<std::string_view, Denied> sums;
  const auto routes = control.routes();
  for (FunctionMetrics& function : control.functions().all()) {
    const Denied counts = total_denied(function);
    const ServiceRoutes* service = routes->find(function.service);
    const Route* route = service == nullptr ? nullptr : &service->find(function.method);
    // For a function that a reload has removed, find() returns another route.
    const bool ruled = route != nullptr && route->method == function.method && route->access;
    if (!ruled && counts[0] + counts[1] == 0) continue;
    if (control.functions().series().has_own(function, function.method, SeriesGroup::kDenials,
                                             control.node().admin.functions_max)) {
      add(function.service, function.method, counts);
      continue;
    }
    Denied& sum = sums[function.service];
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += counts[i];
  }
  for (const auto& [service, sum] : sums) add(service, kSummedMethod, sum);
}

void add_summed(MetricFamilies& page, Control& control) {
  page.begin("hatrpc_functions_summed",
             "Functions without series of their own because of admin.max_functions.", Type::Gauge);
  size_t all = 0;
  for (size_t i = 0; i < kSeriesGroupNames.size(); ++i) {
    const uint64_t summed = control.functions().series().summed(static_cast<SeriesGroup>(i));
    page.add({{"series", kSeriesGroupNames[i]}}, summed);
    all += summed;
  }
  if (all == 0) return;
  LOG_FIRST_N(WARNING, 1) << "metrics: more functions have series than admin.max_functions allows ("
                          << control.node().admin.functions_max << "); the series " << kSummedMethod
                          << " of a service has the sums of its other functions";
}

}  // namespace

void add_function_series(MetricFamilies& page, Control& control) {
  const CalledFunctions called = called_functions(control);
  add_calls(page, called);
  add_ways(page, control, called);
  add_durations(page, control.node().admin.duration_buckets, called);
  add_plans(page, control, called);
  add_denials(page, control);
  add_summed(page, control);
}

}  // namespace hat
