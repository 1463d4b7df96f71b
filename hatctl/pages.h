// SPDX-License-Identifier: Apache-2.0
// hatctl/pages.h: formats the answers of hatrpcd, which are JSON, as text for people.
// daemon/admin/admin_json.h documents the JSON.
//
// Errors   A function that reads JSON throws nlohmann::json::exception if a value that it needs is
//          missing.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "hatctl/function_rates.h"
#include "hatctl/terminal.h"

namespace hat::hatctl {

// Returns `status`, the answer to GET /status, as text. `unix_now` is the current time in seconds
// since 1970; ages in the text ("2 min ago") are relative to `unix_now`.
std::string status_text(const nlohmann::json& status, double unix_now, const Terminal& terminal);

std::string routes_text(const nlohmann::json& routes, const Terminal& terminal);

// Returns `routes`, an answer to GET /routes, reduced to the functions that `wanted` names.
// `wanted` is a service, service.function, or "" for all functions. If no function matches, the
// result has no services.
nlohmann::json routes_wanted(nlohmann::json routes, const std::string& wanted);

// Returns `advice`, the answer to GET /advice, as text: the changes of hints that hatrpcd proposes,
// as they will appear in the manifest, with the reason and the gain of each.
std::string advice_text(const nlohmann::json& advice, const Terminal& terminal);
// Returns `advice`, reduced to the functions that `wanted` names, as in routes_wanted().
nlohmann::json advice_wanted(nlohmann::json advice, const std::string& wanted);

// Returns `slow`, the answer to GET /slow, reduced to the functions that `wanted` names, as text:
// first the calls without a reply yet, then those that have ended, by function and peer and one by
// one.
std::string slow_text(const nlohmann::json& slow, const std::string& wanted, double unix_now,
                      const Terminal& terminal);
// Returns `slow`, reduced to the functions that `wanted` names, as in routes_wanted().
nlohmann::json slow_wanted(nlohmann::json slow, const std::string& wanted);
// Returns the calls without a reply yet in `slow`, the answer to GET /slow, as text; empty if there
// are none, or if hatrpcd is too old to report them.
std::string waiting_text(const nlohmann::json& slow, const Terminal& terminal);
// Returns the age of an unanswered call as text: "450 ms", "12.3 s", "3 min 12 s".
std::string wait_text(double seconds);

// Returns `answer`, the answer to GET /peers, as text.
std::string peers_text(const nlohmann::json& answer, const Terminal& terminal);
// Returns an element `avoided` of a peer that is not slow (daemon/admin/peers_json.h) as text, for
// example "ejected for 4.2 s".
std::string ejection_text(const nlohmann::json& ejection);

// Returns `answer`, the answer to GET /connections, as text.
std::string connections_text(const nlohmann::json& answer, const Terminal& terminal);

// Returns "service.function" for `wanted`, which is that or only the function's name. Returns an
// error, which names the nearest function, if `routes`, the answer to GET /routes, has no such
// function or several ones.
Result<std::string> function_called(const nlohmann::json& routes, const std::string& wanted);
// Returns the argument of routes_wanted() for `wanted`, which is a service, or names a function as
// for function_called(), or is "" for all functions. Returns an error as function_called() does.
Result<std::string> functions_called(const nlohmann::json& routes, const std::string& wanted);
// Returns a page about one function. `routes` is the answer to GET /routes, reduced to this
// function; `page` is the answer to GET /explain.
std::string explain_text(const nlohmann::json& routes, const nlohmann::json& page,
                         const Terminal& terminal);

std::string calibration_text(const nlohmann::json& calibration, const Terminal& terminal);

std::string certs_text(const nlohmann::json& certificates, double unix_now,
                       const Terminal& terminal);
// Returns true if this node's own certificate is valid at `unix_now`, or if the node has none.
bool own_certificate_is_good(const nlohmann::json& certificates, double unix_now);

std::string reload_text(const nlohmann::json& report, bool dry_run);

std::string top_text(const std::vector<FunctionRates>& functions, const Terminal& terminal);
nlohmann::json top_json(const std::vector<FunctionRates>& functions, double seconds);

}  // namespace hat::hatctl
