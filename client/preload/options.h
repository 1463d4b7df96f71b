// SPDX-License-Identifier: Apache-2.0
// client/preload/options.h: TCP and IP options of a ring's unix socket, which has neither.
//
// This class stores a value that the program sets, so that the program reads the same value back.
// The value has no effect: TCP_NODELAY, for example, is not needed because a ring delays nothing.
#pragma once

#include <sys/socket.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace hatrpc::preload {

class Options {
 public:
  static bool is_one(int level);

  // Behave as setsockopt(2) and getsockopt(2).
  int set(int level, int name, const void* value, socklen_t bytes);
  int get(int level, int name, void* value, socklen_t* bytes);
  // Copies the options that matter to programs from the TCP socket that the ring replaces.
  void take_from(int tcp_socket);
  void forget_threads();

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::vector<char>> values_;
};

// Copies as much of a value as the caller has space for, as getsockopt(2) does.
int give_option(const void* value, size_t size, void* into, socklen_t* bytes);

}  // namespace hatrpc::preload
