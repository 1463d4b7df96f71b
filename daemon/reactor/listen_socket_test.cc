// SPDX-License-Identifier: Apache-2.0
#include "daemon/reactor/listen_socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/reactor/socket_address.h"

namespace hat {
namespace {

using daemon::InheritedSocket;
using daemon::InheritedSockets;

// Returns the inode of the socket `fd`; two descriptors of the same socket have the same inode.
ino_t identity(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

// Binds and listens as systemd does for a socket unit, with a blocking socket.
Descriptor listener_of_somebody(const std::string& text) {
  const auto where = to_listen_on(*parse_address(text));
  Descriptor fd(socket(where->storage.ss_family, SOCK_STREAM, 0));
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&where->storage), where->length), 0);
  EXPECT_EQ(listen(fd.get(), 1), 0);
  return fd;
}

InheritedSockets inherit(Descriptor fd, const std::string& name = "hatrpcd.socket") {
  const std::string address = to_string(*bound_address(fd.get()));
  std::vector<InheritedSocket> sockets;
  sockets.push_back({name, address, std::move(fd)});
  return InheritedSockets(std::move(sockets));
}

std::string temporary_path(const std::string& name) {
  return "/tmp/hat_listen_socket_test_" + std::to_string(getpid()) + "_" + name;
}

TEST(ListenSocket, AdoptsTheInheritedSocketOfItsAddressHoweverItIsSpelled) {
  for (const std::string host : {"127.0.0.1", "127.1"}) {
    Descriptor fd = listener_of_somebody("tcp:127.0.0.1:0");
    const ino_t theirs = identity(fd.get());
    const auto port = std::to_string(bound_address(fd.get())->port);
    InheritedSockets inherited = inherit(std::move(fd));
    const Address address = *parse_address("tcp:" + host + ":" + port);
    const auto socket = ListenSocket::adopt_or_open(inherited, address);
    ASSERT_TRUE(socket) << socket.error().message;
    EXPECT_EQ(identity(socket->fd()), theirs) << host;
    EXPECT_EQ(socket->address(), address);
    EXPECT_TRUE(fcntl(socket->fd(), F_GETFL) & O_NONBLOCK) << "a worker would hang in accept()";
    EXPECT_THAT(inherited.left(), testing::IsEmpty());
  }
}

TEST(ListenSocket, FindsAUnixSocketByAnyKindAndLeavesItsPathToWhoeverBoundIt) {
  for (const std::string kind : {"unix:", "shm:"}) {
    const std::string path = temporary_path("adopted");
    Descriptor fd = listener_of_somebody("unix:" + path);
    const ino_t theirs = identity(fd.get());
    InheritedSockets inherited = inherit(std::move(fd));
    {
      const auto socket = ListenSocket::adopt_or_open(inherited, *parse_address(kind + path));
      ASSERT_TRUE(socket) << socket.error().message;
      EXPECT_EQ(identity(socket->fd()), theirs) << kind;
    }
    EXPECT_EQ(access(path.c_str(), F_OK), 0) << "systemd still listens there";
    unlink(path.c_str());
  }
}

TEST(ListenSocket, GivesAPathThatBecomesItsOwnTheModeOfItsConfiguration) {
  const std::string path = temporary_path("given");
  const auto mode = [&] {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
  };
  const Address address = *parse_address("unix:" + path);
  auto old = ListenSocket::open(address, 0666);
  ASSERT_TRUE(old) << old.error().message;
  InheritedSockets inherited = inherit(Descriptor(dup(old->fd())));
  {
    auto socket = ListenSocket::adopt_or_open(inherited, address, 0600);
    ASSERT_TRUE(socket) << socket.error().message;
    EXPECT_EQ(mode(), 0666u) << "the old one's still";
    old->own_path(false);
    socket->own_path(true);
    EXPECT_EQ(mode(), 0600u);
    socket->own_path(false);
    old->own_path(true);
    EXPECT_EQ(mode(), 0666u) << "it goes on";
  }
  InheritedSockets again = inherit(Descriptor(dup(old->fd())));
  const auto refused = ListenSocket::adopt_or_open(again, address, 0600, "no-such-group");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("there is no group 'no-such-group'"));
}

TEST(ListenSocket, GivesNoOtherFileItsMode) {
  const std::string path = temporary_path("swapped"), other = temporary_path("other");
  auto socket = ListenSocket::open(*parse_address("unix:" + path), 0666);
  ASSERT_TRUE(socket) << socket.error().message;
  socket->own_path(false);
  const Descriptor file(open(other.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  const auto mode = [&] {
    struct stat info {};
    return fstat(file.get(), &info) == 0 ? info.st_mode & 0777 : 0;
  };
  for (const auto put : {&symlink, &link}) {
    unlink(path.c_str());
    ASSERT_EQ(put(other.c_str(), path.c_str()), 0);
    socket->own_path(true);
    EXPECT_EQ(mode(), 0600u);
    socket->own_path(false);
  }
  unlink(path.c_str());
  unlink(other.c_str());
}

TEST(ListenSocket, OpensWhatNobodyHandedOverAndTakesEachOnce) {
  Descriptor fd = listener_of_somebody("tcp:127.0.0.1:0");
  const Address address = *bound_address(fd.get());
  InheritedSockets inherited = inherit(std::move(fd));
  const auto other = ListenSocket::adopt_or_open(inherited, *parse_address("tcp:127.0.0.1:0"));
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_NE(other->address().port, address.port);

  const auto first = ListenSocket::adopt_or_open(inherited, address);
  ASSERT_TRUE(first) << first.error().message;
  const auto again = ListenSocket::adopt_or_open(inherited, address);
  ASSERT_FALSE(again) << "one socket was given to two";
  EXPECT_THAT(again.error().message, testing::HasSubstr("another process listens there"));
}

TEST(ListenSocket, RefusesWhatDoesNotListen) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Descriptor other_end(ends[1]);
  std::vector<InheritedSocket> pipes;
  pipes.push_back({"pipe", "tcp:127.0.0.1:9090", Descriptor(ends[0])});
  InheritedSockets inherited(std::move(pipes));
  const auto socket = ListenSocket::adopt_or_open(inherited, *parse_address("tcp:127.0.0.1:9090"));
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error().message, testing::HasSubstr("tcp:127.0.0.1:9090: cannot listen"));
}

TEST(InheritedSockets, ReportsWhatIsLeftAndClosesIt) {
  int fd = -1;
  {
    Descriptor listener = listener_of_somebody("tcp:127.0.0.1:0");
    fd = listener.get();
    const std::string address = to_string(*bound_address(fd));
    const InheritedSockets inherited = inherit(std::move(listener), "old.socket");
    EXPECT_THAT(inherited.left(), testing::ElementsAre(address + " (old.socket)"));
    EXPECT_GE(fcntl(fd, F_GETFD), 0);
  }
  EXPECT_LT(fcntl(fd, F_GETFD), 0) << "nobody reads it, and who connects would wait for ever";
}

TEST(SocketAddress, ReportsWhereASocketIsBoundAsAConfigurationSpellsIt) {
  const std::string path = temporary_path("bound");
  const Descriptor unix_socket = listener_of_somebody("unix:" + path);
  EXPECT_EQ(to_string(*bound_address(unix_socket.get())), "unix:" + path);
  unlink(path.c_str());
  const Descriptor tcp = listener_of_somebody("tcp:127.0.0.1:0");
  EXPECT_THAT(to_string(*bound_address(tcp.get())), testing::MatchesRegex("tcp:127.0.0.1:[0-9]+"));
  EXPECT_FALSE(bound_address(-1));
}

}  // namespace
}  // namespace hat
