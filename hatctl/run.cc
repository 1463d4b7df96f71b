// SPDX-License-Identifier: Apache-2.0
#include "hatctl/run.h"

#include <cstdio>
#include <expected>
#include <iostream>
#include <thread>

#include "base/quantities.h"
#include "base/whole_file.h"
#include "daemon/tls/make_certificates.h"
#include "hatctl/apply_advice.h"
#include "hatctl/calibrate.h"
#include "hatctl/doctor/doctor.h"
#include "hatctl/http_client.h"
#include "hatctl/launch.h"
#include "hatctl/pages.h"
#include "hatctl/what_if/what_if.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

struct Session {
  const Options& options;
  const HttpClient client;
  const Terminal terminal;
};

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void print_json(const json& body, int indent = 2) { print(body.dump(indent) + "\n"); }

int refused(const HttpAnswer& answer) {
  return complain("hatrpcd answers " + std::to_string(answer.status) + ": " + answer.body,
                  kRefused);
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

int run_status(const Session& session) {
  const auto answer = session.client.get("/status");
  if (!answer) return complain(answer.error().message, kUnreachable);
  if (answer->status != 200) return refused(*answer);
  const json status = json::parse(answer->body);
  session.options.json ? print_json(status)
                       : print(status_text(status, unix_now(), session.terminal));
  return status.at("pending").empty() ? kDone : kRefused;
}

int run_routes(const Session& session) {
  const auto answer = session.client.get("/routes");
  if (!answer) return complain(answer.error().message, kUnreachable);
  if (answer->status != 200) return refused(*answer);
  const json all = json::parse(answer->body);
  const auto wanted = functions_called(all, session.options.route);
  if (!wanted) return complain(wanted.error().message, kRefused);
  const json routes = routes_wanted(all, *wanted);
  session.options.json ? print_json(routes) : print(routes_text(routes, session.terminal));
  return kDone;
}

int run_top(const Session& session) {
  const Options& options = session.options;
  std::optional<Snapshot> before;
  for (uint64_t shown = 0; options.count == 0 || shown < options.count;) {
    const auto answer = session.client.get("/functions");
    if (!answer) return complain(answer.error().message, kUnreachable);
    if (answer->status != 200) return refused(*answer);
    Snapshot now = read_snapshot(answer->body, SteadyClock::now());
    if (before) {
      const auto functions = rates_between(*before, now);
      const std::chrono::duration<double> seconds = now.taken - before->taken;
      if (options.json) {
        print_json(top_json(functions, seconds.count()), -1);
      } else {
        // On a terminal, each table replaces the previous one.
        if (session.terminal.interactive && options.count != 1) print("\x1b[H\x1b[2J");
        print(top_text(functions, session.terminal));
      }
      ++shown;
    }
    before = std::move(now);
    if (options.count == 0 || shown < options.count) std::this_thread::sleep_for(options.interval);
  }
  return kDone;
}

int run_reload(const Session& session) {
  const bool dry_run = session.options.dry_run;
  const auto answer = session.client.post(dry_run ? "/reload?dry_run=1" : "/reload");
  if (!answer) return complain(answer.error().message, kUnreachable);
  if (answer->status != 200 && answer->status != 409) return refused(*answer);
  const json report = json::parse(answer->body);
  if (session.options.json) {
    print_json(report);
  } else if (answer->status == 200) {
    print(reload_text(report, dry_run));
  }
  if (answer->status == 200) return kDone;
  if (session.options.json) return kRefused;
  return complain("reload refused; the running configuration stays in use:\n" +
                      report.at("error").get<std::string>(),
                  kRefused);
}

int apply(const Session& session, json advice) {
  const auto applied = apply_advice(session.client, advice);
  if (!applied) {
    const bool unreachable = applied.error().code == ErrorCode::kUnavailable;
    return complain(applied.error().message, unreachable ? kUnreachable : kRefused);
  }
  if (session.options.json) {
    advice["applied"] = {
        {"files", applied->files}, {"notes", applied->notes}, {"reload", applied->reload}};
    print_json(advice);
    return kDone;
  }
  for (const std::string& file : applied->files) print("changed " + file + "\n");
  print(reload_text(applied->reload, false));
  for (const std::string& note : applied->notes) print("note: " + note + "\n");
  return kDone;
}

// Asks for `path`, which older versions of hatrpcd do not have. The function that `path` may name
// was in the answer to GET /routes a moment ago. After an error, which the user has
// been shown, returns the exit status.
std::expected<json, int> ask(const Session& session, const std::string& path,
                             const std::string& what) {
  const auto answer = session.client.get(path);
  if (!answer) return std::unexpected(complain(answer.error().message, kUnreachable));
  if (answer->status == 404 && answer->body.contains("there is no such ")) {
    return std::unexpected(complain(
        "hatrpcd has no such function: a reload has just removed it; try again", kRefused));
  }
  if (answer->status == 404) {
    return std::unexpected(
        complain("this hatrpcd is too old to " + what + ": upgrade it", kRefused));
  }
  if (answer->status != 200) return std::unexpected(refused(*answer));
  return json::parse(answer->body);
}

// An answer that is about functions.
struct FunctionsAnswer {
  json body;
  std::string wanted;  // the functions that the user wants to see, as for routes_wanted()
};

// Asks for `path`, whose answer is about functions. `what` completes the message for a hatrpcd that
// does not know the path. After an error, which the user has been shown, returns the exit status.
std::expected<FunctionsAnswer, int> ask_about_functions(const Session& session,
                                                        const std::string& path,
                                                        const std::string& what) {
  std::string wanted = session.options.route;
  if (!wanted.empty()) {
    const auto routes = session.client.get("/routes");
    if (!routes) return std::unexpected(complain(routes.error().message, kUnreachable));
    if (routes->status != 200) return std::unexpected(refused(*routes));
    auto name = functions_called(json::parse(routes->body), wanted);
    if (!name) return std::unexpected(complain(name.error().message, kRefused));
    wanted = std::move(*name);
  }
  auto body = ask(session, path, what);
  if (!body) return std::unexpected(body.error());
  return FunctionsAnswer{std::move(*body), std::move(wanted)};
}

int run_slow(const Session& session) {
  const auto answer = ask_about_functions(session, "/slow", "show slow calls");
  if (!answer) return answer.error();
  const json slow = slow_wanted(answer->body, answer->wanted);
  session.options.json ? print_json(slow)
                       : print(slow_text(slow, answer->wanted, unix_now(), session.terminal));
  return kDone;
}

int run_peers(const Session& session) {
  const auto answer = ask(session, "/peers", "show its peers");
  if (!answer) return answer.error();
  session.options.json ? print_json(*answer) : print(peers_text(*answer, session.terminal));
  return kDone;
}

int run_connections(const Session& session) {
  const Options& options = session.options;
  const auto answer =
      ask(session,
          "/connections?top=" + std::to_string(options.connections.shown) +
              (options.connections.order.empty() ? "" : "&by=" + options.connections.order),
          "show connections");
  if (!answer) return answer.error();
  options.json ? print_json(*answer) : print(connections_text(*answer, session.terminal));
  return kDone;
}

int run_explain(const Session& session) {
  const auto all = ask(session, "/routes", "explain");
  if (!all) return all.error();
  const auto name = function_called(*all, session.options.route);
  if (!name) return complain(name.error().message, kRefused);
  const json routes = routes_wanted(*all, *name);
  const json& service = routes.at("services").at(0);
  const json& function = service.at("functions").at(0);
  const auto page = ask(session,
                        "/explain?service=" + in_query(service.at("service").get<std::string>()) +
                            "&function=" + in_query(function.at("method").get<std::string>()),
                        "explain");
  if (!page) return page.error();
  if (session.options.json) {
    json both = *page;
    both["route"] = function;
    print_json(both);
  } else {
    print(explain_text(routes, *page, session.terminal));
  }
  return kDone;
}

int run_advise(const Session& session) {
  const auto answer = ask_about_functions(session, "/advice", "advise");
  if (!answer) return answer.error();
  const json advice = advice_wanted(answer->body, answer->wanted);
  if (session.options.apply && !advice.at("proposals").empty()) return apply(session, advice);
  session.options.json ? print_json(advice) : print(advice_text(advice, session.terminal));
  return kDone;
}

int run_drain(const Session& session) {
  const auto answer = session.client.post("/drain");
  if (!answer) return complain(answer.error().message, kUnreachable);
  if (answer->status != 202) return refused(*answer);
  if (session.options.json) {
    print(answer->body);
  } else {
    print("draining: hatrpcd accepts no new calls, finishes the calls in flight, and then exits\n");
  }
  return kDone;
}

int run_calibrate(const Session& session) {
  const Options& options = session.options;
  const auto done = calibrate(session.client, options.peer);
  if (!done) return complain(done.error().message, kUnreachable);
  if (!done->end) {
    if (options.json) print(done->body);
    return complain("cannot calibrate with " + options.peer + ": " + done->end.error().message,
                    kRefused);
  }
  const json calibration = json::parse(done->body);
  options.json ? print_json(calibration) : print(calibration_text(calibration, session.terminal));
  if (options.write.empty()) return kDone;
  const auto written = write_whole(options.write, calibration.at("profile"));
  if (!written) return complain(written.error().message, kRefused);
  if (!options.json)
    print("\nwritten to " + options.write +
          "; to use it, set `profile` in hatrpcd.yaml to this file, or `peers." + options.peer +
          ".profile` for calls to this peer only\n");
  return kDone;
}

int make_certs(const Options& options) {
  constexpr auto kNotAnyMore = std::chrono::minutes(-1);
  const auto days = std::chrono::hours(24 * options.days);
  const auto made = make_certificates({.folder = options.folder,
                                       .nodes = options.nodes,
                                       .trust_domain = options.trust_domain,
                                       .valid = options.days == 0 ? kNotAnyMore : days});
  if (!made) return complain(made.error().message, kRefused);
  if (options.json) {
    print_json(*made);
    return kDone;
  }
  for (const std::string& file : *made) print(file + "\n");
  std::cerr << "for tests, not for production: anyone who can read " << options.folder
            << "/ca.key can pose as any node\n";
  return kDone;
}

int run_certs(const Session& session) {
  if (!session.options.folder.empty()) return make_certs(session.options);
  const auto answer = session.client.get("/certificates");
  if (!answer) return complain(answer.error().message, kUnreachable);
  if (answer->status != 200) return refused(*answer);
  const json certificates = json::parse(answer->body);
  session.options.json ? print_json(certificates)
                       : print(certs_text(certificates, unix_now(), session.terminal));
  return own_certificate_is_good(certificates, unix_now()) ? kDone : kRefused;
}

int run_ping(const Session& session) {
  const auto asked = SteadyClock::now();
  const auto answer = session.client.get("/ping");
  const std::chrono::duration<double, std::micro> took = SteadyClock::now() - asked;
  if (!answer) return complain(answer.error().message, kUnreachable);
  if (answer->status != 200) return refused(*answer);
  const auto health = session.client.get("/healthz/live");
  if (!health) return complain(health.error().message, kUnreachable);
  json pong = json::parse(answer->body);
  if (session.options.json) {
    pong["alive"] = health->status == 200;
    pong["took_us"] = took.count();
    print_json(pong);
  } else {
    print("node " + pong.at("node").get<std::string>() + ", hatrpcd " +
          pong.at("version").get<std::string>() + ": answered in " + time_text(took.count()) +
          "\n");
  }
  return health->status == 200 ? kDone : refused(*health);
}

int run_metrics(const Session& session) {
  const auto answer = session.client.get("/metrics");
  if (!answer) return complain(answer.error().message, kUnreachable);
  if (answer->status != 200) return refused(*answer);
  print(answer->body);
  return kDone;
}

int run_command(const Session& session) {
  switch (session.options.command) {
    case Command::kStatus:
      return run_status(session);
    case Command::kRoutes:
      return run_routes(session);
    case Command::kTop:
      return run_top(session);
    case Command::kSlow:
      return run_slow(session);
    case Command::kExplain:
      return run_explain(session);
    case Command::kPeers:
      return run_peers(session);
    case Command::kConnections:
      return run_connections(session);
    case Command::kReload:
      return run_reload(session);
    case Command::kAdvise:
      return run_advise(session);
    case Command::kDrain:
      return run_drain(session);
    case Command::kCalibrate:
      return run_calibrate(session);
    case Command::kCerts:
      return run_certs(session);
    case Command::kDoctor:
      return doctor::run_doctor(session.options, session.terminal);
    case Command::kWhatIf:
      return run_what_if(session.options, session.terminal);
    case Command::kPing:
      return run_ping(session);
    case Command::kMetrics:
      return run_metrics(session);
    case Command::kRun:
      return launch(session.options);
  }
  return kUsage;
}

}  // namespace

int run(const Options& options) {
  try {
    return run_command({options, HttpClient(options.socket), standard_output()});
  } catch (const json::exception& error) {
    return complain("cannot parse hatrpcd's answer (" + std::string(error.what()) +
                        "): hatctl and hatrpcd may have different versions; compare `hatctl "
                        "--version` with `hatrpcd --version`",
                    options.command == Command::kRun ? kLaunchFailed : kRefused);
  }
}

}  // namespace hat::hatctl
