// SPDX-License-Identifier: Apache-2.0
// daemon/process/service_manager.h: notifies systemd of the daemon's state (sd_notify(3)), and
// takes the listening sockets that systemd passes to the daemon (sd_listen_fds(3)).
//
// Without systemd, the notifications do nothing and inherited_sockets() returns none. Only this
// file uses libsystemd.
//
// Thread   Only the main thread may call these functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "daemon/reactor/inherited_sockets.h"

namespace hat::service_manager {

// Returns the listening sockets that systemd passed; a second call returns none. Closes and logs
// passed descriptors that are not listening sockets.
std::vector<daemon::InheritedSocket> inherited_sockets();

// Notifies systemd that the daemon is ready, reloads or stops. `status` is a text for people, which
// `systemctl status` shows; only its first line is sent.
void notify_ready(const std::string& status);  // at the start, and after notify_reloading()
void notify_reloading();
void notify_stopping(const std::string& status);
// Makes `pid` the main process of the systemd unit. This process must be the main process now, and
// `pid` must belong to the unit.
void notify_main_process(int pid);

// Returns the longest time that systemd allows between two calls of notify_alive(). Returns nothing
// if systemd expects no such calls.
std::optional<Duration> watchdog_time();
void notify_alive();

}  // namespace hat::service_manager
