// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/service_manager.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "daemon/reactor/socket_address.h"

namespace hat::service_manager {
namespace {

using namespace std::chrono_literals;
using testing::MatchesRegex;

// Plays systemd: a datagram socket to which NOTIFY_SOCKET points.
class ServiceManager : public testing::Test {
 protected:
  void SetUp() override {
    sockaddr_un where{.sun_family = AF_UNIX};
    path_.copy(where.sun_path, sizeof where.sun_path - 1);
    ASSERT_EQ(bind(fd_.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
    setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  }
  ~ServiceManager() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
    unlink(path_.c_str());
  }

  // Returns the next notification; empty if there is none. A notification has arrived when
  // sd_notify(3) returns.
  std::string next() {
    std::array<char, 4096> text{};
    const ssize_t bytes = recv(fd_.get(), text.data(), text.size(), MSG_DONTWAIT);
    return {text.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0};
  }

 private:
  const std::string path_ = "/tmp/hat_service_manager_test_" + std::to_string(getpid());
  const Descriptor fd_{socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST_F(ServiceManager, HearsHowTheDaemonIs) {
  notify_ready("node a: generation 1\nand more");
  EXPECT_EQ(next(), "READY=1\nSTATUS=node a: generation 1") << "a second line is no status";
  notify_reloading();
  EXPECT_THAT(next(), MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+\nSTATUS=.+"));
  notify_stopping("draining");
  EXPECT_EQ(next(), "STOPPING=1\nSTATUS=draining");
  notify_alive();
  EXPECT_EQ(next(), "WATCHDOG=1");
}

TEST_F(ServiceManager, HearsNothingWhereThereIsNone) {
  unsetenv("NOTIFY_SOCKET");
  notify_ready("node a");
  notify_alive();
  EXPECT_EQ(next(), "");
}

TEST_F(ServiceManager, SaysHowLongItWaitsForSignsOfLife) {
  const std::string own = std::to_string(getpid());
  const struct {
    const char* us;
    std::string pid;
    std::optional<Duration> time;
  } cases[] = {{nullptr, own, std::nullopt},
               {"20000000", own, 20s},
               {"500000", own, 500ms},
               {"20000000", "1", std::nullopt}};  // WATCHDOG_PID names another process
  for (const auto& one : cases) {
    one.us == nullptr ? unsetenv("WATCHDOG_USEC") : setenv("WATCHDOG_USEC", one.us, 1);
    setenv("WATCHDOG_PID", one.pid.c_str(), 1);
    EXPECT_EQ(watchdog_time(), one.time) << (one.us == nullptr ? "none" : one.us) << one.pid;
  }
}

// --- Sockets that systemd passes, at descriptors 3, 4 …: each test needs a process of its own ---

int complain(const char* what) {
  std::fprintf(stderr, "service_manager_test: %s\n", what);
  return 1;
}

// Inherits a listening socket and one end of a pipe; returns the exit status of the test process.
int inherits_two() {
  Descriptor listener(socket(AF_INET, SOCK_STREAM, 0));
  // Without bind(2), the kernel chooses the port.
  if (listen(listener.get(), 1) != 0) return complain("listen() failed");
  int ends[2];
  if (pipe(ends) != 0) return complain("pipe() failed");
  constexpr int kOutOfTheWay = 20;
  const int socket_copy = fcntl(listener.get(), F_DUPFD, kOutOfTheWay);
  const int pipe_copy = fcntl(ends[0], F_DUPFD, kOutOfTheWay);
  if (dup2(socket_copy, 3) != 3 || dup2(pipe_copy, 4) != 4) return complain("dup2() failed");
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  setenv("LISTEN_FDS", "2", 1);
  setenv("LISTEN_FDNAMES", "calculator:odd", 1);

  const std::vector<daemon::InheritedSocket> sockets = inherited_sockets();
  if (sockets.size() != 1) return complain("not the socket alone");
  if (sockets[0].name != "calculator" || sockets[0].fd.get() != 3)
    return complain("another socket");
  if (sockets[0].address != to_string(*bound_address(3))) return complain("another address");
  if (fcntl(4, F_GETFD) >= 0) return complain("the pipe is still open");
  if ((fcntl(3, F_GETFD) & FD_CLOEXEC) == 0) return complain("children would inherit it");
  if (!inherited_sockets().empty()) return complain("handed over twice");
  return 0;
}

// Gets the LISTEN_* variables of another process; returns the exit status of the test process.
int inherits_nothing() {
  setenv("LISTEN_PID", "1", 1);
  setenv("LISTEN_FDS", "1", 1);
  return inherited_sockets().empty() ? 0 : complain("took what is another process's");
}

TEST(InheritedSocketsDeathTest, AreListeningSocketsWithNameAndAddress) {
  EXPECT_EXIT(std::exit(inherits_two()), testing::ExitedWithCode(0), "");
}

TEST(InheritedSocketsDeathTest, AreForTheProcessThatTheyAreMeantFor) {
  EXPECT_EXIT(std::exit(inherits_nothing()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hat::service_manager
