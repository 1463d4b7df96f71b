// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/read_host.h: takes a Host from the files of /proc, /sys, /dev and /etc.
//
// Errors   none: what cannot be read stays empty, and who judges says so.
#pragma once

#include <optional>
#include <string>

#include "hatctl/doctor/files.h"
#include "hatctl/doctor/host.h"

namespace hat::doctor {

// `root` stands before each path; "" is this host. `daemon_pid` is what the daemon says of itself:
// in another process namespace than ours it names another process, or none.
Host read_host(const std::string& root, std::optional<int> daemon_pid);

// Its parts.
std::vector<RdmaDevice> read_devices(const Files& files);
std::vector<Interface> read_interfaces(const Files& files);
// "self", or a number; nothing where there is no such process.
std::optional<Process> read_process(const Files& files, const std::string& pid);
std::optional<Process> read_account(const Files& files, const std::string& user);

// The name of /etc/passwd or /etc/group for a number, else the number.
std::string account_name(const Files& files, const std::string& file, uint64_t number);

}  // namespace hat::doctor
