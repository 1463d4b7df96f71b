// SPDX-License-Identifier: Apache-2.0
// client/preload/descriptors.h: records which of the process's descriptors are connections over
// rings, and which are listening sockets that also accept such connections.
//
// Every intercepted call first looks up its descriptor here. If the descriptor is not a ring's
// socket, the lookup costs one load of one byte.
//
// Forks    After a fork(), parent and child can both use the connections that they share, but not
//          at the same time. The child of a vfork() has its own descriptors, but uses the parent's
//          memory and therefore the parent's table. So this table ignores what such a child does to
//          its descriptors before its exec (is_own_table()).
// Thread   any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace hatrpc::preload {

class Connection;
class Listener;

namespace descriptors {

inline constexpr int kMax = 65536;  // a descriptor with this number or a higher one is never a ring

enum class Kind : uint8_t {
  kForeign,   // any other descriptor of the program
  kRing,      // a socket of the program whose bytes travel over rings
  kListener,  // a listening socket of the program that also accepts rings (listener.h)
  // A descriptor of this library's own. close() ignores it, because some programs close every
  // descriptor that they find.
  kHidden,
};

inline constinit std::atomic<Kind> kinds[kMax]{};

inline Kind kind(int fd) {
  return fd >= 0 && fd < kMax ? kinds[fd].load(std::memory_order_relaxed) : Kind::kForeign;
}
inline bool is_ring(int fd) { return kind(fd) == Kind::kRing; }
inline bool is_listener(int fd) { return kind(fd) == Kind::kListener; }

// Returns the connection over rings to which `fd` refers, or null if there is none.
std::shared_ptr<Connection> find_ring(int fd);
inline std::shared_ptr<Connection> ring(int fd) { return is_ring(fd) ? find_ring(fd) : nullptr; }
// Returns true if `fd` still refers to `connection`. Returns false if another thread has closed
// `fd` or has made it refer to something else.
inline bool holds(int fd, const Connection* connection) { return ring(fd).get() == connection; }

// Returns the listening socket to which `fd` refers, or null if it does not accept rings.
std::shared_ptr<Listener> find_listener(int fd);
inline std::shared_ptr<Listener> listener(int fd) {
  return is_listener(fd) ? find_listener(fd) : nullptr;
}

// Returns false in the child of a vfork(): the child uses the table of its parent, and must not
// change it.
bool is_own_table();
// Records that `fd` is a descriptor of `connection`, or of no connection if `connection` is null.
// Releases the connection or the listening socket that `fd` had before, if any.
void put(int fd, std::shared_ptr<Connection> connection);
// Records that `fd` is a descriptor of `listener`, as put() does for a connection.
void put_listener(int fd, std::shared_ptr<Listener> listener);
inline void drop(int fd) {
  if ((is_ring(fd) || is_listener(fd)) && is_own_table()) put(fd, nullptr);
}
// Removes any old entry for `fd`, a descriptor number that the kernel has just given to a new file.
// An entry exists if the program closed an earlier descriptor in a way that this library did not
// see.
void forget(int fd);
// Calls `visit` for each descriptor of kind kRing. Each lookup takes the lock of its descriptor, so
// other threads can change the table during the call.
void for_each_ring(void (*visit)(void* context, int fd, Connection&), void* context);

// Calls `visit` for each descriptor of kind kListener, as for_each_ring() does for connections.
void for_each_listener(void (*visit)(int fd, Listener&));

// Returns true if a listening socket of this process also accepts rings at `path`.
bool listens_at(std::string_view path);

// Returns a duplicate of `fd` with FD_CLOEXEC and with a high number, which programs do not use
// themselves. Returns -1 and sets errno if there is no descriptor left.
int hide(int fd);
// Closes a descriptor that hide() returned.
void close_hidden(int fd);

}  // namespace descriptors
}  // namespace hatrpc::preload
