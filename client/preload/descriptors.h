// SPDX-License-Identifier: Apache-2.0
// client/preload/descriptors.h: which of the process's descriptors are connections over rings.
//
// Every intercepted call asks here first: for a descriptor that is none, one load of one byte.
//
// Forks    Parent and child both go on with the connections that they have in common, one at a
//          time. The child of a vfork() shares the table's memory, but not the descriptors: what it
//          does to them before its exec changes nothing here (is_own_table()).
// Thread   any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace hatrpc::preload {

class Connection;

namespace descriptors {

inline constexpr int kMax = 65536;  // a descriptor beyond is never on a ring

enum class Kind : uint8_t {
  kForeign,  // none of our business
  kRing,     // a program's socket, on a ring
  kHidden,   // this library's own, which programs that close all that they find must pass over;
             // also the child of a vfork, as the exec needs it
};

inline constinit std::atomic<Kind> kinds[kMax]{};

inline Kind kind(int fd) {
  return fd >= 0 && fd < kMax ? kinds[fd].load(std::memory_order_relaxed) : Kind::kForeign;
}
inline bool is_ring(int fd) { return kind(fd) == Kind::kRing; }

// Null where it is none.
std::shared_ptr<Connection> find_ring(int fd);
inline std::shared_ptr<Connection> ring(int fd) { return is_ring(fd) ? find_ring(fd) : nullptr; }
// `fd` still is `connection`; else another thread has closed or replaced it.
inline bool holds(int fd, const Connection* connection) { return ring(fd).get() == connection; }

bool is_own_table();
// What `fd` was, if it was a ring, is forgotten. Null: it is none from now on.
void put(int fd, std::shared_ptr<Connection> connection);
inline void drop(int fd) {
  if (is_ring(fd) && is_own_table()) put(fd, nullptr);
}
// Each of them, while no other thread changes the table.
void for_each_ring(void (*visit)(void* context, int fd, Connection&), void* context);

// A duplicate under a number where programs expect none, which closes on exec; -1: errno says.
int hide(int fd);
// Closes what hide() returned.
void close_hidden(int fd);

}  // namespace descriptors
}  // namespace hatrpc::preload
