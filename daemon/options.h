// daemon/options.h: hatrpcd's command line.
#pragma once

#include <string>

#include "base/result.h"

namespace hat {

struct Options {
  std::string config = "/etc/hatrpc/hatrpcd.yaml";
  bool check = false;
  bool quiet = false;
  bool takeover = false;
  bool help = false;
  bool version = false;
  int log_level = 0;  // glog's: 0 info, 1 warning, 2 error; -1 debug
};

inline constexpr const char* kHelp =
    R"(usage: hatrpcd [--config FILE] [--check [--quiet] | --takeover] [--log-level LEVEL]

Carries the calls of unmodified Thrift applications on this host to hatrpcd on the hosts of their
servers, each function by the plan that its hints lead to.

  -c, --config FILE      the node's configuration (default: /etc/hatrpc/hatrpcd.yaml)
  -t, --check            read everything, name every mistake with FILE:LINE:COLUMN, and exit
  -q, --quiet            with --check: say nothing, the exit status tells
      --takeover         take over from the hatrpcd that serves this node now, its listening sockets
                         and its connections; where none does, start as ever
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
