// SPDX-License-Identifier: Apache-2.0
#include "hatctl/node_file.h"

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "hatctl/http_client.h"

namespace hat::hatctl {
namespace {

// Returns the configuration file of the running daemon. The error is the reason why it is unknown.
Result<std::string> config_of_daemon(const std::string& socket) {
  const auto answer = HttpClient(socket).get("/ping");
  if (!answer) return fail(ErrorCode::kUnavailable, "no hatrpcd answers at " + socket);
  const auto pong = nlohmann::json::parse(answer->body, nullptr, false);
  const bool has_config = pong.is_object() && pong.contains("config");
  if (answer->status != 200 || !has_config || !pong["config"].is_string()) {
    return fail(ErrorCode::kUnsupported,
                "the hatrpcd at " + socket + " does not report its configuration file");
  }
  return pong["config"].get<std::string>();
}

}  // namespace

NodeFileName node_file_name(const Options& options) {
  if (!options.config.empty()) return {options.config, "named by --config"};
  auto running = config_of_daemon(options.socket);
  if (running) {
    return {std::move(*running), "the file that the hatrpcd at " + options.socket + " runs with"};
  }
  return {kDefaultConfig, "the default, because " + running.error().message, true};
}

}  // namespace hat::hatctl
