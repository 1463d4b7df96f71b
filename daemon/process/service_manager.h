// SPDX-License-Identifier: Apache-2.0
// daemon/process/service_manager.h: notifies systemd of the daemon's state (sd_notify(3)), and
// takes the sockets that systemd hands to the daemon (sd_listen_fds(3)).
//
// Without a service manager, notifications do nothing and no sockets exist. No other file uses
// libsystemd.
//
// Thread   The main thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "daemon/reactor/inherited_sockets.h"

namespace hat::service_manager {

// Returns the listening sockets of the unit's socket units; a second call returns none. Closes and
// logs descriptors of any other kind.
std::vector<daemon::InheritedSocket> inherited_sockets();

// Notifies systemd. `status` is a line for people, which `systemctl status` shows; only its first
// line is sent.
void tell_ready(const std::string& status);  // at the start, and after tell_reloading()
void tell_reloading();
void tell_stopping(const std::string& status);
// Makes `pid` the unit's main process. It must belong to the unit, and this process must be the
// main process now.
void tell_main_process(int pid);

// Returns the longest time between two calls of tell_alive(); nothing if the service manager does
// not expect any.
std::optional<Duration> watchdog_time();
void tell_alive();

}  // namespace hat::service_manager
