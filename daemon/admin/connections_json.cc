// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/connections_json.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/number.h"
#include "base/rounded.h"

namespace hat {

using nlohmann::json;

namespace {

constexpr std::array kOrders = {"calls", "unanswered", "buffered", "bytes", "age"};

uint64_t rank(const ConnectionStatus& status, ConnectionOrder order) {
  switch (order) {
    case ConnectionOrder::kCalls:
      return status.calls;
    case ConnectionOrder::kUnanswered:
      return status.unanswered;
    case ConnectionOrder::kBuffered:
      return status.buffered;
    case ConnectionOrder::kBytes:
      return status.bytes_in + status.bytes_out;
    case ConnectionOrder::kAge:
      return static_cast<uint64_t>(status.age.count());
  }
  return 0;
}

const char* kind_text(Address::Kind kind) {
  constexpr std::array kKinds = {"tcp", "unix", "ring"};
  return kKinds[static_cast<size_t>(kind)];
}

json connection_json(const ConnectionReport& report) {
  const ConnectionStatus& status = report.status;
  const double age = std::chrono::duration<double>(status.age).count();
  return {{"endpoint", status.endpoint},
          {"service", status.service},
          {"kind", kind_text(status.kind)},
          {"pid", report.client.pid == 0 ? json(nullptr) : json(report.client.pid)},
          {"client", report.client.address},
          {"protocol", status.protocol},
          {"peer", status.peer},
          {"has_own_server", status.has_own_server},
          {"carrier", status.carrier},
          {"waits", status.waits},
          {"age_s", rounded(age, 3)},
          {"calls", status.calls},
          {"unanswered", status.unanswered},
          {"bytes_in", status.bytes_in},
          {"bytes_out", status.bytes_out},
          {"buffered", status.buffered},
          {"worker", report.worker}};
}

}  // namespace

Result<json> connections_json(Control& control, const std::string& by, const std::string& top) {
  const auto named = std::ranges::find(kOrders, by.empty() ? "calls" : by);
  if (named == kOrders.end()) {
    return fail(ErrorCode::kInvalid, "by: calls, unanswered, buffered, bytes or age");
  }
  const auto order = static_cast<ConnectionOrder>(named - kOrders.begin());
  const auto most = top.empty() ? kConnectionsShown : parse_number<size_t>(top).value_or(0);
  if (most == 0 || most > kConnectionsMost) {
    return fail(ErrorCode::kInvalid, "top: a number from 1 to " + std::to_string(kConnectionsMost));
  }
  ConnectionsReport report = control.connections(order, most);
  std::ranges::stable_sort(report.shown, std::ranges::greater(),
                           [&](const ConnectionReport& one) { return rank(one.status, order); });
  if (report.shown.size() > most) {
    report.shown.erase(report.shown.begin() + static_cast<std::ptrdiff_t>(most),
                       report.shown.end());
  }
  json connections = json::array();
  for (const ConnectionReport& one : report.shown) connections.push_back(connection_json(one));
  const double took = std::chrono::duration<double, std::micro>(report.longest).count();
  return json{{"workers", control.workers().size()},
              {"workers_silent", report.silent},
              {"open", report.open},
              {"order", *named},
              {"worker_us", rounded(took, 1)},
              {"connections", std::move(connections)}};
}

}  // namespace hat
