// SPDX-License-Identifier: Apache-2.0
// hatctl/pages.h: each of hatrpcd's answers as text for people; daemon/admin/admin_json.h has the
// answers' shapes.
//
// All throw nlohmann::json::exception where an answer lacks what is read of it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hatctl/function_rates.h"
#include "hatctl/terminal.h"

namespace hat::hatctl {

// `unix_now` in seconds, to tell how long ago things were.
std::string status_text(const nlohmann::json& status, double unix_now, const Terminal& terminal);

std::string routes_text(const nlohmann::json& routes, const Terminal& terminal);

// The answer of /routes with what was not wanted left out. `wanted`: "" for all, a service, or
// service.function; no service is left if nothing is called so.
nlohmann::json routes_wanted(nlohmann::json routes, const std::string& wanted);

std::string calibration_text(const nlohmann::json& calibration, const Terminal& terminal);

std::string certs_text(const nlohmann::json& certificates, double unix_now,
                       const Terminal& terminal);
// Or there is none.
bool own_certificate_is_good(const nlohmann::json& certificates, double unix_now);

std::string reload_text(const nlohmann::json& report, bool dry_run);

std::string top_text(const std::vector<FunctionRates>& functions, const Terminal& terminal);
nlohmann::json top_json(const std::vector<FunctionRates>& functions, double seconds);

}  // namespace hat::hatctl
