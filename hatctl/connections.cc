// SPDX-License-Identifier: Apache-2.0
// hatctl/connections.cc: formats the answer of /connections as text.
#include "base/quantities.h"
#include "hatctl/pages.h"
#include "hatctl/report_gaps.h"
#include "hatctl/shown_text.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

std::string or_dash(const json& text) {
  const std::string shown = shown_text(text);
  return shown.empty() ? "-" : shown;
}

// Returns what is known of the client: its process, or its address.
std::string connection_client(const json& connection) {
  const json& pid = connection.at("pid");
  if (!pid.is_null()) return "pid " + pid.dump();
  return or_dash(connection.at("client"));
}

std::string connection_peer(const json& connection) {
  const std::string peer = or_dash(connection.at("peer"));
  return connection.at("has_own_server") ? peer + " (own server connection)" : peer;
}

std::string connection_carrier(const json& connection) {
  const std::string waits = connection.at("waits");
  if (waits == "end") return "ending";
  if (waits == "link") return "waits for a link";
  if (waits == "lane") return "waits for a lane";
  return or_dash(connection.at("carrier"));
}

}  // namespace

std::string connections_text(const json& answer, const Terminal& terminal) {
  const json& connections = answer.at("connections");
  const auto open = answer.at("open").get<uint64_t>();
  const std::string gaps = report_gaps(answer);
  if (open == 0 && !gaps.empty()) return gaps;
  std::string text = gaps + plural(open, "connection") + " of local clients";
  if (!gaps.empty()) text += " in the other workers";
  if (connections.empty()) return text + "\n";
  if (connections.size() < open) {
    text += ", of which these " + std::to_string(connections.size()) + " come first by " +
            shown_text(answer.at("order"));
  }
  Table table({{"ENDPOINT"},
               {"CLIENT"},
               {"KIND"},
               {"PROTOCOL"},
               {"PEER"},
               {"CARRIER"},
               {"AGE", true},
               {"CALLS", true},
               {"IN FLIGHT", true},
               {"IN", true},
               {"OUT", true},
               {"BUFFERED", true}});
  for (const json& one : connections) {
    table.add({or_dash(one.at("endpoint")), connection_client(one), or_dash(one.at("kind")),
               or_dash(one.at("protocol")), connection_peer(one), connection_carrier(one),
               age_text(one.at("age_s")),
               count_text(static_cast<double>(one.at("calls").get<uint64_t>())),
               one.at("unanswered").dump(), size_text(one.at("bytes_in")),
               size_text(one.at("bytes_out")), size_text(one.at("buffered"))});
  }
  return text + "\n\n" + table.text(terminal);
}

}  // namespace hat::hatctl
