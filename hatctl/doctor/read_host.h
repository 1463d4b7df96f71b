// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/read_host.h: reads a Host from the files of /proc, /sys, /dev and /etc.
//
// Errors   No function returns an error. A fact that cannot be read stays empty.
#pragma once

#include <optional>
#include <string>

#include "hatctl/doctor/files.h"
#include "hatctl/doctor/host.h"

namespace hat::doctor {

// Reads all facts. `root` is put before each path; "" is this host. `daemon_pid` is the process id
// that the daemon reports. If the daemon runs in another PID namespace, that id refers to another
// process here, or to none; Host::daemon is set only if the process is called hatrpcd.
Host read_host(const std::string& root, std::optional<int> daemon_pid);

// Reads one part of a Host: the devices, or the interfaces.
std::vector<RdmaDevice> read_devices(const Files& files);
std::vector<Interface> read_interfaces(const Files& files);
// Returns the process `pid`, a number or "self", or nothing if that process does not exist.
std::optional<Process> read_process(const Files& files, const std::string& pid);
// Returns the user `user` of /etc/passwd, or nothing if there is no such user. Sets only the
// members of Process about the user and its groups.
std::optional<Process> read_account(const Files& files, const std::string& user);

// Returns the name of the user or group `number`; `file` is /etc/passwd or /etc/group. Returns the
// number as text if the file has no such user or group.
std::string account_name(const Files& files, const std::string& file, uint64_t number);

}  // namespace hat::doctor
