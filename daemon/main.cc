// daemon/main.cc: hatrpcd: reads its arguments and its configuration, then runs.
#include <glog/logging.h>

#include <csignal>
#include <cstdio>
#include <iostream>

#include "daemon/daemon.h"
#include "daemon/options.h"

namespace {

// sysexits.h: what systemd and shells can tell apart.
constexpr int kUsage = 2;
constexpr int kUnavailable = 69;
constexpr int kBadConfiguration = 78;

void start_log(const char* program, int level) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = std::max(level, 0);
  FLAGS_v = level < 0 ? 1 : 0;
  google::InitGoogleLogging(program);
}

int check(const hat::Options& options, const hat::Configuration& configuration,
          const hat::Mistakes& mistakes) {
  if (!options.quiet) {
    std::cerr << mistakes.text();
    if (!mistakes.any_errors()) {
      size_t functions = 0;
      for (const auto& service : configuration.manifest.services) {
        functions += service.functions.size();
      }
      std::cout << options.config << ": ok: node " << configuration.node.node << ", "
                << configuration.node.endpoints.size() << " endpoint(s), "
                << configuration.node.peers.size() << " peer(s), "
                << configuration.manifest.services.size() << " service(s), " << functions
                << " function(s)\n";
    }
  }
  return mistakes.any_errors() ? kBadConfiguration : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = hat::parse_options(argc, argv);
  if (!options) {
    std::cerr << "hatrpcd: " << options.error().message << "; `hatrpcd --help` lists them\n";
    return kUsage;
  }
  if (options->help) return std::fputs(hat::kHelp, stdout) < 0;
  if (options->version) return std::puts("hatrpcd " HAT_VERSION) < 0;

  hat::Mistakes mistakes;
  auto configuration = hat::load_configuration(options->config, mistakes);
  if (options->check) return check(*options, configuration, mistakes);
  if (!mistakes.all().empty()) std::cerr << mistakes.text();
  if (mistakes.any_errors()) return kBadConfiguration;

  start_log(argv[0], options->log_level);
  std::signal(SIGPIPE, SIG_IGN);
  auto daemon = hat::Daemon::open(options->config, std::move(configuration));
  if (!daemon) {
    std::cerr << "hatrpcd: " << daemon.error().message << "\n";
    return kUnavailable;
  }
  (*daemon)->run();
  return 0;
}
