// SPDX-License-Identifier: Apache-2.0
// client/preload/descriptors.h: records which of the process's descriptors are connections over
// rings.
//
// Every intercepted call checks its descriptor here first. For a descriptor that is not a ring,
// this costs one load of one byte.
//
// Forks    Parent and child both continue to use the connections that they share, one at a time.
//          The child of a vfork() shares the table's memory, but not the descriptors: what it does
//          to them before its exec changes nothing here (is_own_table()).
// Thread   any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace hatrpc::preload {

class Connection;

namespace descriptors {

inline constexpr int kMax = 65536;  // a descriptor of this number or above is never on a ring

enum class Kind : uint8_t {
  kForeign,  // not a descriptor of this library
  kRing,     // a program's socket that is on a ring
  // Programs that close every descriptor they find must skip a hidden one. So must the child of a
  // vfork, because the exec needs it.
  kHidden,  // this library's own descriptor
};

inline constinit std::atomic<Kind> kinds[kMax]{};

inline Kind kind(int fd) {
  return fd >= 0 && fd < kMax ? kinds[fd].load(std::memory_order_relaxed) : Kind::kForeign;
}
inline bool is_ring(int fd) { return kind(fd) == Kind::kRing; }

// Returns null if `fd` is not a ring.
std::shared_ptr<Connection> find_ring(int fd);
inline std::shared_ptr<Connection> ring(int fd) { return is_ring(fd) ? find_ring(fd) : nullptr; }
// Returns true if `fd` is still `connection`; returns false if another thread has closed or
// replaced it.
inline bool holds(int fd, const Connection* connection) { return ring(fd).get() == connection; }

bool is_own_table();
// Makes `fd` a descriptor of `connection`, or an ordinary one if `connection` is null. Releases the
// connection that `fd` was before, if any.
void put(int fd, std::shared_ptr<Connection> connection);
inline void drop(int fd) {
  if (is_ring(fd) && is_own_table()) put(fd, nullptr);
}
// Calls `visit` for each ring. Each is looked up under its lock, so other threads may change the
// table.
void for_each_ring(void (*visit)(void* context, int fd, Connection&), void* context);

// Returns a duplicate of `fd` that closes on exec, with a number that programs do not expect; or -1
// and errno.
int hide(int fd);
// Closes what hide() returned.
void close_hidden(int fd);

}  // namespace descriptors
}  // namespace hatrpc::preload
