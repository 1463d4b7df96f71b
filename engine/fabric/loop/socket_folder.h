// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/socket_folder.h: the addresses of the loop fabric's unix sockets. Without a
// folder, the sockets are abstract, and only processes of one network namespace reach each other.
// With a folder, the sockets are files in it, and all processes that see this folder reach each
// other.
//
// Security  Only this user may write to the folder, so no other user can remove the sockets. Each
//           side also checks the user of the process at the other end (channel.h). A peer can name
//           only sockets of loop fabrics: no other file, and no other program's abstract socket.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace hat::engine::loop {

// Returns the name of a socket, for a random number.
std::string socket_name(uint64_t random);
// Returns true if socket_name() returns this name for some number.
bool is_socket_name(std::string_view name);

// Returns the address of the socket with this name. `folder` is empty or the path of the folder.
// Returns an error if the path is too long.
Result<std::pair<sockaddr_un, socklen_t>> address_of(const std::string& folder,
                                                     const std::string& name);

// Returns a text that is the same for all processes that see this folder, under any path. Returns
// an error if the folder does not exist, belongs to another user, or others may write to it.
Result<std::string> identity_of(const std::string& folder);

// Removes the sockets of processes that were killed from the folder. Removes no other file.
void remove_sockets_of_the_dead(const std::string& folder);

// Removes a file when the object ends.
class SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(std::string path) : path_(std::move(path)) {}
  SocketFile(SocketFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  SocketFile& operator=(SocketFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~SocketFile();

 private:
  std::string path_;  // empty: no file
};

}  // namespace hat::engine::loop
