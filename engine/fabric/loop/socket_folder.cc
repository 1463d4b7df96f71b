// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/loop/socket_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/descriptor.h"
#include "base/system_error.h"

namespace hat::engine::loop {
namespace {

constexpr std::string_view kPrefix = "hatrpc-loop-";
constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr size_t kDigits = 16;

}  // namespace

std::string socket_name(uint64_t random) {
  std::string name(kPrefix);
  for (size_t i = kDigits; i-- > 0;) name += kHexDigits[(random >> (4 * i)) & 15];
  return name;
}

bool is_socket_name(std::string_view name) {
  return name.size() == kPrefix.size() + kDigits && name.starts_with(kPrefix) &&
         name.find_first_not_of(kHexDigits, kPrefix.size()) == name.npos;
}

Result<std::pair<sockaddr_un, socklen_t>> address_of(const std::string& folder,
                                                     const std::string& name) {
  // An abstract name begins with a zero byte (unix(7)).
  const std::string path = folder.empty() ? '\0' + name : folder + "/" + name;
  sockaddr_un address{.sun_family = AF_UNIX};
  if (path.size() >= sizeof address.sun_path) {
    return fail(ErrorCode::kInvalid,
                "loop fabric: the path '" + folder +
                    "' of fabric.loop_folder is too long for unix sockets; choose a shorter one");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return std::pair(address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()));
}

Result<std::string> identity_of(const std::string& folder) {
  struct stat found {};
  if (stat(folder.c_str(), &found) != 0) {
    return fail_errno("loop fabric: cannot use fabric.loop_folder '" + folder + "'", errno);
  }
  const bool own = S_ISDIR(found.st_mode) && found.st_uid == geteuid();
  if (!own || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(ErrorCode::kDenied, "loop fabric: fabric.loop_folder '" + folder +
                                        "' must be a folder that belongs to the daemon's user and "
                                        "to which no other user may write");
  }
  return std::to_string(found.st_dev) + ":" + std::to_string(found.st_ino);
}

void remove_sockets_of_the_dead(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    std::error_code ignored;
    if (!is_socket_name(name) || !entry->is_socket(ignored)) continue;
    const auto address = address_of(folder, name);
    if (!address) continue;
    const Descriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const auto* to = reinterpret_cast<const sockaddr*>(&address->first);
    if (connect(fd.get(), to, address->second) != 0 && errno == ECONNREFUSED) {
      unlink(entry->path().c_str());
    }
  }
}

SocketFile::~SocketFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace hat::engine::loop
