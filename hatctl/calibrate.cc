// SPDX-License-Identifier: Apache-2.0
#include "hatctl/calibrate.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

namespace hat::hatctl {
namespace {

using nlohmann::json;

constexpr auto kAskAgain = std::chrono::milliseconds(100);

}  // namespace

Result<Calibrated> calibrate(const HttpClient& client, const std::string& peer) {
  HAT_TRY(const HttpAnswer begun, client.post("/calibrate?peer=" + in_query(peer)));
  if (begun.status != 202) {
    const json why = json::parse(begun.body, nullptr, false);
    const bool has_error = why.is_object() && why.contains("error");
    return Calibrated{
        begun.body,
        fail(ErrorCode::kDenied, has_error ? why.at("error").get<std::string>() : begun.body)};
  }
  const uint64_t number = json::parse(begun.body).at("number");
  for (;;) {
    std::this_thread::sleep_for(kAskAgain);
    HAT_TRY(const HttpAnswer answer, client.get("/calibration"));
    const json report = json::parse(answer.body);
    if (report.at("number") != number) {
      return Calibrated{answer.body,
                        fail(ErrorCode::kBusy,
                             "another calibration has replaced this one; run the command again")};
    }
    const std::string state = report.at("state");
    if (state == "running") continue;  // the daemon ends every calibration within a minute
    if (state == "done") return Calibrated{answer.body, {}};
    return Calibrated{answer.body, fail(ErrorCode::kUnavailable, report.at("error"))};
  }
}

}  // namespace hat::hatctl
