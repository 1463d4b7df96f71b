// SPDX-License-Identifier: Apache-2.0
// hatctl/options.h: parses hatctl's command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/arguments.h"
#include "base/result.h"

namespace hat::hatctl {

enum class Command : uint8_t {
  kStatus,
  kRoutes,
  kTop,
  kSlow,
  kExplain,
  kPeers,
  kConnections,
  kReload,
  kAdvise,
  kDrain,
  kCalibrate,
  kCerts,
  kDoctor,
  kWhatIf,
  kPing,
  kMetrics,
  kRun
};

inline constexpr const char* kDefaultSocket = "/run/hatrpcd/admin.sock";
inline constexpr const char* kDefaultConfig = "/etc/hatrpc/hatrpcd.yaml";

// The parsed command line. A comment that begins with the name of a command is about a member that
// only this command uses.
struct Options {
  Command command = Command::kStatus;
  std::string socket = kDefaultSocket;
  bool socket_named = false;  // true if an option or the environment names the socket
  // routes, slow, advise: a service or a function; empty: all. explain: a function
  std::string route;
  struct {
    std::string order;    // calls, unanswered, buffered, bytes or age; empty: hatrpcd's default
    uint64_t shown = 20;  // how many
  } connections;          // connections
  std::string peer;       // calibrate: the peer to measure with
  std::string write;      // calibrate: the file for the profile; empty: write no file
  std::string folder;     // certs make: the output folder; empty: `certs` without `make`
  std::vector<std::string> nodes;            // certs make: at least one
  uint64_t days = 30;                        // certs make: days of validity; 0: already expired
  std::string trust_domain = "hatrpc.test";  // certs make: the trust domain of the SPIFFE IDs
  // doctor, what-if: the node's configuration file; empty: the running daemon's, else
  // kDefaultConfig
  std::string config;
  std::string profile;               // what-if: the file with the costs of the other fabric
  uint32_t cores = 0;                // what-if: of the other host; 0: not given
  uint32_t nic_cores = 0;            // what-if: of these, near the RDMA NIC; 0: not given
  std::vector<std::string> peers;    // doctor: the peers to check; empty: all
  std::string library;               // run: the preloaded library; empty: the installed one
  std::string http;                  // run: tcp:HOST:PORT, asked instead of `socket`; or empty
  std::vector<std::string> program;  // run: the program and its arguments
  bool json = false;
  bool apply = false;                        // advise: change the manifests, and reload
  bool dry_run = false;                      // reload: check and report, but change nothing
  std::chrono::milliseconds interval{1000};  // top: the time between two tables
  uint64_t count = 0;  // top: the number of tables to print; 0: until interrupted
  Action action = Action::kRun;
  std::string_view help;  // if `action` is kShowHelp: the text to print
};

// Parses the arguments after the program's name. `socket_in_environment` is the value of the
// environment variable HATRPCD_SOCKET, or null if it is not set.
Result<Options> parse_options(const std::vector<std::string>& arguments,
                              const char* socket_in_environment);

}  // namespace hat::hatctl
