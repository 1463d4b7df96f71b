#include "daemon/service_manager.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "daemon/socket_address.h"

namespace hat::service_manager {
namespace {

using namespace std::chrono_literals;
using testing::MatchesRegex;

ino_t identity(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

// Stands where systemd stands: a datagram socket that NOTIFY_SOCKET names.
class ServiceManager : public testing::Test {
 protected:
  struct Told {
    std::string text;
    std::vector<Descriptor> fds;
  };

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

  // What has been told: sd_notify(3) returns when it lies here.
  Told next() {
    Told told;
    std::array<char, 4096> text{};
    alignas(cmsghdr) std::array<char, 256> control{};
    iovec into{text.data(), text.size()};
    msghdr message{.msg_iov = &into,
                   .msg_iovlen = 1,
                   .msg_control = control.data(),
                   .msg_controllen = control.size()};
    const ssize_t bytes = recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes > 0) told.text.assign(text.data(), static_cast<size_t>(bytes));
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_type != SCM_RIGHTS) continue;
      std::array<int, 8> fds{};
      const size_t length = part->cmsg_len - CMSG_LEN(0);
      std::memcpy(fds.data(), CMSG_DATA(part), length);
      for (size_t i = 0; i < length / sizeof(int); ++i) told.fds.emplace_back(fds[i]);
    }
    return told;
  }

 private:
  const std::string path_ = "/tmp/hat_service_manager_test_" + std::to_string(getpid());
  const Descriptor fd_{socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST_F(ServiceManager, HearsHowTheDaemonIs) {
  tell_ready("node a: generation 1\nand more");
  EXPECT_EQ(next().text, "READY=1\nSTATUS=node a: generation 1") << "a second line is no status";
  tell_reloading();
  EXPECT_THAT(next().text, MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+\nSTATUS=.+"));
  tell_stopping("draining");
  EXPECT_EQ(next().text, "STOPPING=1\nSTATUS=draining");
  tell_alive();
  EXPECT_EQ(next().text, "WATCHDOG=1");
}

TEST_F(ServiceManager, KeepsDescriptorsByName) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Descriptor one(ends[0]);
  const Descriptor two(ends[1]);
  EXPECT_TRUE(store_fds("link", ends));
  const Told told = next();
  EXPECT_EQ(told.text, "FDSTORE=1\nFDNAME=link");
  ASSERT_EQ(told.fds.size(), 2u);
  EXPECT_EQ(identity(told.fds[0].get()), identity(one.get()));
  EXPECT_EQ(identity(told.fds[1].get()), identity(two.get()));
  forget_fds("link");
  EXPECT_EQ(next().text, "FDSTOREREMOVE=1\nFDNAME=link");
}

TEST_F(ServiceManager, HearsNothingWhereThereIsNone) {
  unsetenv("NOTIFY_SOCKET");
  tell_ready("node a");
  tell_alive();
  EXPECT_FALSE(store_fds("link", std::array{STDIN_FILENO}));
  EXPECT_EQ(next().text, "");
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
               {"20000000", "1", std::nullopt}};  // it watches another process
  for (const auto& one : cases) {
    one.us == nullptr ? unsetenv("WATCHDOG_USEC") : setenv("WATCHDOG_USEC", one.us, 1);
    setenv("WATCHDOG_PID", one.pid.c_str(), 1);
    EXPECT_EQ(watchdog_time(), one.time) << (one.us == nullptr ? "none" : one.us) << one.pid;
  }
}

// --- Sockets that it hands over: at descriptors 3, 4 …, so in a process of their own ---

int complain(const char* what) {
  std::fprintf(stderr, "service_manager_test: %s\n", what);
  return 1;
}

// The exit status of a process that inherits a listening socket, and the end of a pipe.
int inherits_two() {
  Descriptor listener(socket(AF_INET, SOCK_STREAM, 0));
  if (listen(listener.get(), 1) != 0) return complain("listen() failed");  // at a port of its own
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
  if (sockets[0].name != "calculator" || sockets[0].fd != 3) return complain("another socket");
  if (sockets[0].address != to_string(*bound_address(3))) return complain("another address");
  if (fcntl(4, F_GETFD) >= 0) return complain("the pipe is still open");
  if ((fcntl(3, F_GETFD) & FD_CLOEXEC) == 0) return complain("children would inherit it");
  if (!inherited_sockets().empty()) return complain("handed over twice");
  return 0;
}

// The exit status of a process whose environment tells of another one's sockets.
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
