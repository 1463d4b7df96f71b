// SPDX-License-Identifier: Apache-2.0
// daemon/process/options.h: hatrpcd's command line.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace hat {

struct Options {
  std::string config = "/etc/hatrpc/hatrpcd.yaml";
  bool check = false;
  bool quiet = false;
  bool takeover = false;
  std::string serving_file;           // empty: none
  std::chrono::seconds stay_time{0};  // 0: leaves when nothing is left to do
  bool help = false;
  bool version = false;
  int log_level = 0;  // glog's: 0 info, 1 warning, 2 error; -1 debug
};

inline constexpr const char* kHelp =
    R"(usage: hatrpcd [--config FILE] [--check [--quiet]] [--log-level LEVEL]
               [--takeover] [--serving-file FILE] [--stay SECONDS]

Carries the calls of unmodified Thrift applications on this host to hatrpcd on the hosts of their
servers, each function by the plan that its hints lead to.

  -c, --config FILE      the node's configuration (default: /etc/hatrpc/hatrpcd.yaml)
  -t, --check            read everything, name every mistake with FILE:LINE:COLUMN, and exit
  -q, --quiet            with --check: say nothing, the exit status tells
      --takeover         take over from the hatrpcd that serves this node now, its listening sockets
                         and its connections; where none does, start as ever
      --serving-file FILE
                         make FILE, empty, while this process serves the node; each needs its own
      --stay SECONDS     once another hatrpcd has taken over, be there for SIGTERM so long: for a
                         supervisor that starts whatever ends, and would so take the node back
      --log-level LEVEL  debug, info (default), warning or error; the log goes to standard error
  -h, --help             this text
      --version          the version

Signals: HUP reloads the manifests; USR2 starts the program anew with --takeover; TERM and INT
finish what is in flight, then leave; a second one leaves at once.
Exit status: 0 done, 2 wrong usage, 69 an address is not to be had or the running hatrpcd does not
give way, 78 a mistake in the configuration.

Examples:
  hatrpcd --check --config hatrpcd.yaml && hatrpcd --config hatrpcd.yaml
  hatctl routes                      what each function's plan is, and why
  kill -HUP $(pidof hatrpcd)         after editing a manifest; `hatctl reload` shows what changed
)";

Result<Options> parse_options(int argc, char** argv);

}  // namespace hat
