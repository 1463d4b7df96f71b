// daemon/service_manager.h: what systemd is told of the daemon (sd_notify(3)), and what it keeps
// for the daemon (sd_listen_fds(3)).
//
// Under no service manager nothing is told and nothing is kept. No other file knows libsystemd.
//
// Thread   the main thread's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "daemon/inherited_sockets.h"

namespace hat::service_manager {

// The listening sockets of the unit's socket units, and those that store_fds() gave away before a
// restart: once, a second call has none. Descriptors that are anything else are closed, and logged.
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

// Has the service manager keep copies of the descriptors across a restart, up to the unit's
// FileDescriptorStoreMax=, for inherited_sockets() to have. Names have no colon, no control
// characters, and at most 255 bytes; several stores by one name add up. False: it was not told.
bool store_fds(const std::string& name, std::span<const int> fds);
// Has it close all that it keeps by that name.
void forget_fds(const std::string& name);

}  // namespace hat::service_manager
