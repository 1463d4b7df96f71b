// SPDX-License-Identifier: Apache-2.0
// daemon/process/main.cc: the program hatrpcd: reads its arguments and configuration, and runs the
// daemon.
#include <glog/logging.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <set>
#include <string>

#include "daemon/process/daemon.h"
#include "daemon/process/options.h"
#include "daemon/process/service_manager.h"
#include "daemon/process/serving_file.h"

namespace {

// Exit statuses, by which systemd and shells distinguish errors. 69 and 78 are from sysexits.h.
constexpr int kUsage = 2;
constexpr int kUnavailable = 69;
constexpr int kBadConfiguration = 78;

void start_log(const char* program, int level) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = std::max(level, 0);
  FLAGS_v = level < 0 ? 1 : 0;
  // Sets TZ if it is not set: without TZ, libc checks /etc/localtime for each line of the log.
  setenv("TZ", ":/etc/localtime", 0);
  google::InitGoogleLogging(program);
}

std::string counted(size_t count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

// Returns the line to print after a list of diagnostics, with the number of errors. Returns an
// empty text if there are no errors.
std::string verdict(const hat::Diagnostics& diagnostics) {
  const auto errors = static_cast<size_t>(std::ranges::count(
      diagnostics.all(), hat::Diagnostic::Severity::kError, &hat::Diagnostic::severity));
  if (errors == 0) return "";
  return "hatrpcd: " + counted(errors, "error") + "; hatrpcd.yaml(5) describes what is expected\n";
}

std::string summary(const hat::Configuration& configuration) {
  size_t functions = 0;
  for (const auto& service : configuration.manifest.services) {
    functions += service.functions.size();
  }
  const hat::NodeConfig& node = configuration.node;
  return "node " + node.node + ", " + counted(node.endpoints.size(), "endpoint") + ", " +
         counted(node.peers.size(), "peer") + ", " + counted(node.serves.size(), "served service") +
         "; manifests: " + counted(configuration.manifest.services.size(), "service") + ", " +
         counted(functions, "function");
}

// Returns a note for each service that the node's configuration names and of which no manifest
// lists a function.
std::string notes(const hat::Configuration& configuration) {
  std::set<std::string> unlisted;
  for (const auto& endpoint : configuration.node.endpoints) unlisted.insert(endpoint.service);
  for (const auto& served : configuration.node.serves) unlisted.insert(served.service);
  for (const auto& service : configuration.manifest.services) {
    if (!service.functions.empty()) unlisted.erase(service.name);
  }
  std::string text;
  for (const std::string& service : unlisted) {
    text += "note: no manifest lists functions of service " + service +
            ": all its calls share one plan, and a call that passes its timeout_ms closes its "
            "connection instead of being answered, because it may be oneway. "
            "Write a manifest with hintgen\n";
  }
  return text;
}

int check(const hat::Options& options, const hat::Configuration& configuration,
          const hat::Diagnostics& diagnostics) {
  if (!options.quiet) {
    std::cerr << diagnostics.text() << verdict(diagnostics);
    if (!diagnostics.any_errors()) {
      std::cout << options.config << ": ok: " << summary(configuration) << "\n"
                << notes(configuration);
    }
  }
  return diagnostics.any_errors() ? kBadConfiguration : 0;
}

int unavailable(const hat::Error& error) {
  std::cerr << "hatrpcd: " << error.message << "\n";
  return kUnavailable;
}

// Keeps the process alive after its successor has taken everything over: waits for `time`, SIGTERM
// or SIGINT. Requires that these signals are blocked, as run() leaves them.
void await_end(std::chrono::seconds time) {
  LOG(INFO) << "another hatrpcd serves the node now; because of --stay, this one stays for "
            << time.count() << " s, or until SIGTERM";
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGTERM);
  sigaddset(&wanted, SIGINT);
  const timespec patience{time.count(), 0};
  while (sigtimedwait(&wanted, nullptr, &patience) < 0 && errno == EINTR) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  sigset_t none;  // unblocks all signals: the parent process may have blocked some
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const auto options = hat::parse_options({argv + 1, argv + argc});
  if (!options) {
    std::cerr << "hatrpcd: " << options.error().message << "; see `hatrpcd --help`\n";
    return kUsage;
  }
  if (options->action == hat::Action::kShowHelp) return std::fputs(hat::kHelp, stdout) < 0;
  if (options->action == hat::Action::kShowVersion) return std::puts("hatrpcd " HAT_VERSION) < 0;

  hat::ServingFile serving(options->check ? "" : options->serving_file);
  hat::Diagnostics diagnostics;
  auto configuration = hat::load_configuration(options->config, diagnostics);
  if (options->check) return check(*options, configuration, diagnostics);
  std::cerr << diagnostics.text() << verdict(diagnostics);
  if (diagnostics.any_errors()) return kBadConfiguration;

  start_log(argv[0], options->log_level);
  std::signal(SIGPIPE, SIG_IGN);
  hat::daemon::InheritedSockets inherited(hat::service_manager::inherited_sockets());
  std::unique_ptr<hat::Takeover> takeover;
  if (options->takeover) {
    auto begun = hat::Takeover::begin(configuration.node);
    if (!begun) return unavailable(begun.error());
    takeover = std::move(*begun);
    if (takeover) inherited.add(takeover->take_sockets());
  }
  auto daemon = hat::Daemon::open(options->config, std::move(configuration), std::move(inherited),
                                  std::move(takeover));
  if (!daemon) return unavailable(daemon.error());
  (*daemon)->show_serving_in(serving);
  if (!(*daemon)->run()) return kUnavailable;
  const bool stays = (*daemon)->has_given_way() && options->stay_time.count() != 0;
  daemon->reset();
  if (stays) await_end(options->stay_time);
  return 0;
}
