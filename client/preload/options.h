// SPDX-License-Identifier: Apache-2.0
// client/preload/options.h: the TCP and IP options of a socket that has neither.
//
// What a program sets is remembered, so that it finds it again, and has no effect: no TCP_NODELAY
// is needed where nothing is delayed.
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

  // As setsockopt(2) and getsockopt(2).
  int set(int level, int name, const void* value, socklen_t bytes);
  int get(int level, int name, void* value, socklen_t* bytes);
  // Those that matter to programs, as they were set before the socket was on a ring.
  void take_from(int tcp_socket);
  void forget_threads();

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::vector<char>> values_;
};

// Writes as much of a value as the caller has room for, as getsockopt(2) does.
int give_option(const void* value, size_t size, void* into, socklen_t* bytes);

}  // namespace hatrpc::preload
