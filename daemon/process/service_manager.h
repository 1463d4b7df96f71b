// SPDX-License-Identifier: Apache-2.0
// daemon/process/service_manager.h: what systemd is told of the daemon (sd_notify(3)), and what it
// hands to the daemon (sd_listen_fds(3)).
//
// Under no service manager nothing is told and nothing is handed over. No other file knows
// libsystemd.
//
// Thread   the main thread's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "daemon/reactor/inherited_sockets.h"

namespace hat::service_manager {

// The listening sockets of the unit's socket units: once, a second call has none. Descriptors that
// are anything else are closed, and logged.
std::vector<daemon::InheritedSocket> inherited_sockets();

// `status` is a line for people: `systemctl status` shows it. Only its first line is told.
void tell_ready(const std::string& status);  // at the start, and after tell_reloading()
void tell_reloading();
void tell_stopping(const std::string& status);
// The unit's main process is that one from now on: it must be of the unit, and this one the main.
void tell_main_process(int pid);

// How long the service manager waits for a tell_alive(); nothing where it does not wait for any.
std::optional<Duration> watchdog_time();
void tell_alive();

}  // namespace hat::service_manager
