// SPDX-License-Identifier: Apache-2.0
// daemon/process/options.h: hatrpcd's command line.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/arguments.h"
#include "base/result.h"

namespace hat {

struct Options {
  std::string config = "/etc/hatrpc/hatrpcd.yaml";
  bool check = false;
  bool quiet = false;
  bool takeover = false;
  std::string serving_file;           // empty if none
  std::chrono::seconds stay_time{0};  // how long to run on, idle, after a complete takeover
  Action action = Action::kRun;
  int log_level = 0;  // as in glog: 0 info, 1 warning, 2 error; here also -1 debug
};

inline constexpr const char* kHelp =
    R"(usage: hatrpcd [--config FILE] [--check [--quiet]] [--log-level LEVEL]
               [--takeover] [--serving-file FILE] [--stay SECONDS]

Carries the calls of unmodified Thrift applications on this host to hatrpcd on the hosts of their
servers, each function by the plan that its hints lead to.

  -c, --config FILE      the node's configuration (default: /etc/hatrpc/hatrpcd.yaml)
  -t, --check            read all files, print every error with FILE:LINE:COLUMN, and exit
  -q, --quiet            with --check: print nothing; the exit status is the result
      --takeover         take over the listening sockets and the connections of the hatrpcd that
                         serves this node now; if none does, start as usual
      --serving-file FILE
                         create FILE, which is empty, and remove it when this process no longer
                         serves the node; each process needs a FILE of its own
      --stay SECONDS     after another hatrpcd has taken over, wait up to SECONDS for SIGTERM before
                         exiting; otherwise a supervisor that restarts this process would make
                         it take the node back
      --log-level LEVEL  debug, info (default), warning or error; the log goes to standard error
  -h, --help             this text
      --version          the version

Signals: HUP reloads the configuration. USR2 starts a new hatrpcd with --takeover. TERM and INT
finish the calls in flight and then exit; a second TERM or INT exits at once.
Exit status: 0 success, 2 wrong usage, 69 an address cannot be bound or the running hatrpcd refuses
the takeover, 78 an error in the configuration.

Examples:
  hatrpcd --check --config hatrpcd.yaml && hatrpcd --config hatrpcd.yaml
  hatctl routes                      what each function's plan is, and why
  kill -HUP $(pidof hatrpcd)         after editing files; `hatctl reload` shows what changed
)";

// Parses `arguments`, which do not include the program's name.
Result<Options> parse_options(const std::vector<std::string>& arguments);

}  // namespace hat
