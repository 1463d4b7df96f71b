// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/service_manager.h"

#include <glog/logging.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "daemon/reactor/socket_address.h"

namespace hat::service_manager {
namespace {

// Returns the names in `list` and frees the list and each name, which sd_listen_fds_with_names(3)
// has allocated.
std::vector<std::string> take_names(char** list) {
  std::vector<std::string> names;
  for (char** name = list; name != nullptr && *name != nullptr; ++name) {
    names.emplace_back(*name);
    free(*name);
  }
  free(list);
  return names;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void notify(const std::string& assignments) { (void)sd_notify(0, assignments.c_str()); }

}  // namespace

std::vector<daemon::InheritedSocket> inherited_sockets() {
  char** list = nullptr;
  // Also marks the descriptors close-on-exec, and removes the LISTEN_* variables from the
  // environment.
  const int count = sd_listen_fds_with_names(1, &list);
  const std::vector<std::string> names = take_names(list);
  std::vector<daemon::InheritedSocket> sockets;
  for (int i = 0; i < count; ++i) {
    Descriptor fd(SD_LISTEN_FDS_START + i);
    const auto index = static_cast<size_t>(i);
    const std::string name = index < names.size() ? names[index] : "unknown";
    if (sd_is_socket(fd.get(), AF_UNSPEC, SOCK_STREAM, 1) > 0) {
      if (const auto address = bound_address(fd.get())) {
        sockets.push_back({name, to_string(*address), std::move(fd)});
        continue;
      }
    }
    LOG(WARNING) << "systemd has handed over '" << name
                 << "', which is not a listening stream socket; it is closed";
  }
  return sockets;
}

void notify_ready(const std::string& status) { notify("READY=1\nSTATUS=" + first_line(status)); }

void notify_reloading() {
  // Sends the current time: from it, systemd 253 and later know to which of its reload requests
  // this message and the next READY=1 belong.
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(us) + "\nSTATUS=reading the manifests");
}

void notify_stopping(const std::string& status) {
  notify("STOPPING=1\nSTATUS=" + first_line(status));
}

void notify_main_process(int pid) { notify("MAINPID=" + std::to_string(pid)); }

std::optional<Duration> watchdog_time() {
  uint64_t us = 0;
  if (sd_watchdog_enabled(0, &us) <= 0) return std::nullopt;
  return std::chrono::microseconds(us);
}

void notify_alive() { notify("WATCHDOG=1"); }

}  // namespace hat::service_manager
