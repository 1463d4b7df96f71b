// SPDX-License-Identifier: Apache-2.0
// client/preload/options.h: the TCP and IP options of a connection over rings.
//
// A unix socket does not have such options. Therefore this class stores each value that the program
// sets, and returns the value when the program reads it. The values have no effect.
#pragma once

#include <sys/socket.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace hatrpc::preload {

class Options {
 public:
  // Returns true if `level` is the level of TCP, IPv4 or IPv6 options.
  static bool is_one(int level);

  // Stores the value of an option. Parameters and result are those of setsockopt(2).
  int set(int level, int name, const void* value, socklen_t bytes);
  // Copies the value of an option to `value`. Parameters and result are those of getsockopt(2).
  int get(int level, int name, void* value, socklen_t* bytes);
  // Copies from `tcp_socket`, which the ring replaces, the options that programs commonly set, such
  // as TCP_NODELAY.
  void take_from(int tcp_socket);
  // Creates the mutex anew in a forked child, where the thread that held the mutex does not exist.
  void forget_threads();

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::vector<char>> values_;
};

// Copies a value of `size` bytes to `into` as getsockopt(2) does: at most `*bytes` bytes, and sets
// `*bytes` to the number of copied bytes. Returns 0, or -1 and errno.
int give_option(const void* value, size_t size, void* into, socklen_t* bytes);

}  // namespace hatrpc::preload
