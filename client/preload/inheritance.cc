// SPDX-License-Identifier: Apache-2.0
#include "client/preload/inheritance.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "client/preload/connection.h"
#include "client/preload/descriptors.h"
#include "client/preload/real.h"

namespace hatrpc::preload {
namespace {

constexpr char kName[] = "HATRPC_RINGS_OPEN";

ino_t socket_inode(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

// Returns true if the socket with `inode` stays open across an exec, as descriptor `fd` or as
// standard input, output or error. The three standard descriptors are checked because the child of
// a vfork can have duplicated the socket to them, which the table of descriptors does not record.
bool survives_exec(int fd, ino_t inode) {
  for (const int each : {fd, 0, 1, 2}) {
    const int flags = real::fcntl(each, F_GETFD, nullptr);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0 && socket_inode(each) == inode) return true;
  }
  return false;
}

bool is_unix_stream(int fd) {
  sockaddr_un name{};
  socklen_t bytes = sizeof name;
  if (real::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &bytes) != 0) return false;
  int type = 0;
  bytes = sizeof type;
  return real::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM &&
         name.sun_family == AF_UNIX;
}

struct Word {
  unsigned long inode;
  int memory;
  uint32_t asked;
  uint32_t due;
  ring::Side side;
  Address server;
};

std::optional<Word> parse(const std::string& text) {
  Word word{};
  unsigned side = 0;
  char server[Address::kTextMax] = "";
  if (std::sscanf(text.c_str(), "%lu/%d/%u/%u/%u/%53s", &word.inode, &word.memory, &word.asked,
                  &word.due, &side, server) != 6) {
    return std::nullopt;
  }
  const auto address = Address::parse(server);
  if (!address || side > static_cast<unsigned>(ring::Side::kAcceptor)) return std::nullopt;
  word.side = static_cast<ring::Side>(side);
  word.server = *address;
  return word;
}
static_assert(Address::kTextMax == 54);

void take_over(const Word& word) {
  ring::Memory memory;
  if (ring::Memory::map(word.memory, memory) != 0) return;  // map() has closed the descriptor
  std::shared_ptr<Connection> connection;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fd == dirfd(folder) || fd >= descriptors::kMax ||
        descriptors::kind(fd) != descriptors::Kind::kForeign || socket_inode(fd) != word.inode ||
        !is_unix_stream(fd)) {
      continue;
    }
    if (connection == nullptr) {
      connection =
          // NOLINTNEXTLINE(bugprone-use-after-move): at most once, since a failure ends the loop
          Connection::make(fd, std::move(memory), word.side, word.server, word.asked, word.due);
      if (connection == nullptr) break;
    }
    connection->share();  // the process that passed the connection on can still use it
    descriptors::put(fd, connection);
  }
  closedir(folder);
}

}  // namespace

Inheritance::Inheritance() {
  end_ = text_ + std::snprintf(text_, sizeof text_, "%s=", kName);
  descriptors::for_each_ring(
      [](void* self, int fd, Connection& connection) {
        static_cast<Inheritance*>(self)->add(fd, connection);
      },
      this);
}

void Inheritance::add(int fd, Connection& connection) {
  const ino_t inode = connection.inode();
  if (count_ == kMost || inode == last_ || connection.memory_fd() < 0) return;
  if (!survives_exec(fd, inode)) return;
  const int memory =
      real::fcntl(connection.memory_fd(), F_DUPFD, reinterpret_cast<void*>(intptr_t{3}));
  if (memory < 0) return;
  char server[Address::kTextMax];
  connection.server().print(server);
  end_ +=
      std::snprintf(end_, static_cast<size_t>(text_ + sizeof text_ - end_), "%s%lu/%d/%u/%u/%u/%s",
                    count_ == 0 ? "" : ",", static_cast<unsigned long>(inode), memory,
                    connection.doorbells().asked.load(), connection.doorbells().due.load(),
                    connection.is_acceptor() ? 1U : 0U, server);
  connection.share();  // vfork() does not run the fork handler that calls this
  memories_[count_++] = memory;
  last_ = inode;
}

Inheritance::~Inheritance() {
  for (int i = 0; i < count_; ++i) real::close(memories_[i]);
}

void inherit() {
  const char* text = std::getenv(kName);
  if (text == nullptr) return;
  std::string words = text;
  unsetenv(kName);
  while (!words.empty()) {
    const size_t comma = std::min(words.find(','), words.size());
    if (const auto word = parse(words.substr(0, comma))) take_over(*word);
    words.erase(0, comma + 1);
  }
}

// Runs before main(), and after the constructors of the C library.
__attribute__((constructor)) static void start() {
  // Looks these functions up early: a forked child of a multithreaded process calls them before an
  // exec, and must not call dlsym(3) then.
  real::execve.find();
  real::execvpe.find();
  real::close.find();
  real::dup2.find();
  real::dup3.find();
  real::fcntl.find();
  inherit();
}

}  // namespace hatrpc::preload
