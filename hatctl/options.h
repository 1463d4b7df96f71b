// SPDX-License-Identifier: Apache-2.0
// hatctl/options.h: hatctl's command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace hat::hatctl {

enum class Command : uint8_t {
  kStatus,
  kRoutes,
  kTop,
  kReload,
  kDrain,
  kCalibrate,
  kCerts,
  kDoctor,
  kPing,
  kMetrics
};

inline constexpr const char* kDefaultSocket = "/run/hatrpcd/admin.sock";
inline constexpr const char* kDefaultConfig = "/etc/hatrpc/hatrpcd.yaml";

struct Options {
  Command command = Command::kStatus;
  std::string socket = kDefaultSocket;
  bool socket_told = false;        // by an option or the environment
  std::string wanted;              // routes: a service, or service.function; empty: all
  std::string peer;                // calibrate
  std::string write;               // calibrate: where to write the profile; empty: nowhere
  std::string folder;              // certs make: where to; empty: certs alone, which shows them
  std::vector<std::string> nodes;  // certs make: at least one
  uint64_t days = 30;              // certs make: how long they are good; 0: not any more
  std::string trust_domain = "hatrpc.test";  // certs make
  std::string config;  // doctor: the node's; empty: the running daemon's, else kDefaultConfig
  std::vector<std::string> peers;  // doctor: whom to try; empty: all
  bool json = false;
  bool dry_run = false;                      // reload
  std::chrono::milliseconds interval{1000};  // top
  uint64_t count = 0;                        // top: refreshes; 0: until interrupted
  bool version = false;
  std::string help;  // what --help asked for; empty: it was not given
};

// `socket_in_environment` is $HATRPCD_SOCKET, or null. Errors say which word is wrong and what to
// write instead.
Result<Options> parse_options(int argc, char** argv, const char* socket_in_environment);

}  // namespace hat::hatctl
