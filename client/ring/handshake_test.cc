// SPDX-License-Identifier: Apache-2.0
// client/ring/handshake_test.cc: tests valid greetings, and each kind of greeting that is refused.
#include "client/ring/handshake.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <span>

namespace hatrpc::ring {
namespace {

struct Sockets {
  Sockets() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0); }
  ~Sockets() {
    for (const int each : fd) {
      if (each >= 0) close(each);
    }
  }
  int fd[2];
};

Greeting greeting() {
  Greeting all{.version = kVersion, .ring_bytes = kRingBytesMin};
  std::memcpy(all.magic, kMagic, sizeof kMagic);
  return all;
}

void send_with(int socket, const Greeting& greeting, int descriptor) {
  Greeting copy = greeting;
  iovec part{&copy, sizeof copy};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{.msg_iov = &part, .msg_iovlen = 1};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  ASSERT_EQ(sendmsg(socket, &message, 0), ssize_t{sizeof copy});
}

int memory_file(size_t bytes, int seals) {
  const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
  return fd;
}

TEST(Handshake, AnAcceptorCanPlaceTheMemoryBeforeItIsUsed) {
  Sockets sockets;
  Handshake connector(Side::kConnector, sockets.fd[0], 128 * 1024);
  Handshake acceptor(Side::kAcceptor, sockets.fd[1]);
  size_t bytes = 0;
  bool unused = false;
  acceptor.place_memory([&](std::span<std::byte> mapped) {
    bytes = mapped.size();
    unsigned char resident = 0xff;
    EXPECT_EQ(mincore(mapped.data(), 1, &resident), 0);
    unused = (resident & 1) == 0;
  });
  EXPECT_EQ(connector.step(), EAGAIN);
  ASSERT_EQ(acceptor.step(), 0);
  EXPECT_EQ(bytes, kControlBytes + 4 * 128 * 1024);
  EXPECT_TRUE(unused) << "the kernel chooses a page's node when the page is used first";
}

TEST(Handshake, GivesBothSidesTheSameMemory) {
  Sockets sockets;
  Handshake connector(Side::kConnector, sockets.fd[0], 128 * 1024);
  Handshake acceptor(Side::kAcceptor, sockets.fd[1]);
  EXPECT_EQ(acceptor.step(), EAGAIN);
  EXPECT_EQ(connector.step(), EAGAIN);
  ASSERT_EQ(acceptor.step(), 0);
  ASSERT_EQ(connector.step(), 0);
  const Memory ours = connector.take_memory();
  const Memory theirs = acceptor.take_memory();
  EXPECT_EQ(ours.ring_bytes(), 128u * 1024);
  ours.ring(Side::kAcceptor)[100] = std::byte{42};
  EXPECT_EQ(theirs.ring(Side::kAcceptor)[100], std::byte{42});
  EXPECT_EQ(theirs.ring(Side::kAcceptor)[100 + 128 * 1024], std::byte{42}) << "mapped twice";
  EXPECT_EQ(theirs.ring(Side::kConnector)[100], std::byte{0});
  EXPECT_EQ(ftruncate(ours.fd(), 1), -1) << "its size is sealed";
}

TEST(Handshake, EachSideCanLeaveADoorbell) {
  Sockets sockets;
  Handshake connector(Side::kConnector, sockets.fd[0], 128 * 1024);
  Handshake acceptor(Side::kAcceptor, sockets.fd[1]);
  connector.leave_a_doorbell();
  acceptor.leave_a_doorbell();
  EXPECT_EQ(connector.step(), EAGAIN);
  ASSERT_EQ(acceptor.step(), 0);
  ASSERT_EQ(connector.step(), 0);
  EXPECT_EQ(acceptor.take_memory().ring_bytes(), 128u * 1024);
  for (const int fd : sockets.fd) {
    char doorbells[2];
    EXPECT_EQ(recv(fd, doorbells, sizeof doorbells, MSG_DONTWAIT), 1);
  }
}

TEST(Handshake, TakesAWishWithinItsBounds) {
  const struct {
    uint64_t wish;
    uint64_t got;
  } kCases[] = {{0, kRingBytesDefault},
                {1, kRingBytesMin},
                {100'000, 64 * 1024},
                {uint64_t{1} << 62, 1024 * 1024}};
  for (const auto& [wish, got] : kCases) {
    Sockets sockets;
    Greeting hello = greeting();
    hello.ring_bytes = wish;
    send_with(sockets.fd[0], hello, -1);
    Handshake acceptor(Side::kAcceptor, sockets.fd[1], kRingBytesDefault, 1024 * 1024);
    ASSERT_EQ(acceptor.step(), 0);
    EXPECT_EQ(acceptor.take_memory().ring_bytes(), got) << wish;
  }
}

TEST(Handshake, UsesTheHighestVersionThatBothSidesSupport) {
  const struct {
    uint32_t theirs;
    uint32_t used;
  } kCases[] = {{1, 1}, {2, 2}, {3, 3}, {7, 3}};
  for (const auto& [theirs, used] : kCases) {
    Sockets sockets;
    Greeting hello = greeting();
    hello.version = theirs;
    send_with(sockets.fd[0], hello, -1);
    Handshake acceptor(Side::kAcceptor, sockets.fd[1]);
    ASSERT_EQ(acceptor.step(), 0);
    EXPECT_EQ(acceptor.take_memory().control().version, used);
    Greeting answer{};
    ASSERT_EQ(recv(sockets.fd[0], &answer, sizeof answer, MSG_DONTWAIT), ssize_t{sizeof answer});
    EXPECT_EQ(answer.version, used);
  }
}

TEST(Handshake, AcceptsAnAcceptorOfVersion1) {
  constexpr size_t kWhole = kControlBytes + 2 * kRingBytesMin;
  Sockets sockets;
  Greeting answer = greeting();
  answer.version = 1;
  const int memory = memory_file(kWhole, F_SEAL_GROW | F_SEAL_SHRINK);
  send_with(sockets.fd[1], answer, memory);
  close(memory);
  Handshake connector(Side::kConnector, sockets.fd[0]);
  EXPECT_EQ(connector.step(), 0);
}

TEST(Handshake, WaitsForAGreetingInPieces) {
  Sockets sockets;
  Handshake acceptor(Side::kAcceptor, sockets.fd[1]);
  const Greeting hello = greeting();
  const auto* bytes = reinterpret_cast<const char*>(&hello);
  for (size_t i = 0; i + 1 < sizeof hello; ++i) {
    ASSERT_EQ(send(sockets.fd[0], bytes + i, 1, 0), 1);
    EXPECT_EQ(acceptor.step(), EAGAIN);
  }
  ASSERT_EQ(send(sockets.fd[0], bytes + sizeof hello - 1, 1, 0), 1);
  EXPECT_EQ(acceptor.step(), 0);
}

TEST(Handshake, RefusesWhoSpeaksSomethingElse) {
  const struct {
    const char* what;
    std::function<void(Greeting&)> change;
    int error;
  } kCases[] = {
      {"no greeting", [](Greeting& g) { g.magic[0] = 'x'; }, EPROTO},
      {"an older version", [](Greeting& g) { g.version = 0; }, EPROTONOSUPPORT},
  };
  for (const auto& [what, change, error] : kCases) {
    Sockets sockets;
    Greeting hello = greeting();
    change(hello);
    send_with(sockets.fd[0], hello, -1);
    Handshake acceptor(Side::kAcceptor, sockets.fd[1]);
    EXPECT_EQ(acceptor.step(), error) << what;
  }
  Sockets sockets;
  Handshake connector(Side::kConnector, sockets.fd[0]);
  close(std::exchange(sockets.fd[1], -1));
  EXPECT_EQ(connector.step(), ECONNRESET);
}

TEST(Handshake, IsToldWhyItIsRefused) {
  Sockets sockets;
  Greeting hello = greeting();
  hello.version = 0;
  send_with(sockets.fd[0], hello, -1);
  Handshake acceptor(Side::kAcceptor, sockets.fd[1]);
  EXPECT_EQ(acceptor.step(), EPROTONOSUPPORT);
  Handshake connector(Side::kConnector, sockets.fd[0]);
  EXPECT_EQ(connector.step(), EPROTONOSUPPORT);
}

TEST(Handshake, TakesNoMemoryThatCouldFault) {
  constexpr size_t kWhole = kControlBytes + 2 * kRingBytesMin;
  const struct {
    const char* what;
    int descriptor;
    int error;
  } kCases[] = {
      {"none", -1, EPROTO},
      {"no memory", open("/dev/null", O_RDONLY | O_CLOEXEC), EPROTO},
      {"may shrink", memory_file(kWhole, F_SEAL_GROW), EPERM},
      {"may grow", memory_file(kWhole, F_SEAL_SHRINK), EPERM},
      {"too short", memory_file(4096, F_SEAL_GROW | F_SEAL_SHRINK), EPROTO},
      {"no power of two", memory_file(kWhole + 4096, F_SEAL_GROW | F_SEAL_SHRINK), EPROTO},
      {"another size than it says",
       memory_file(kControlBytes + 4 * kRingBytesMin, F_SEAL_GROW | F_SEAL_SHRINK), EPROTO},
      {"good", memory_file(kWhole, F_SEAL_GROW | F_SEAL_SHRINK), 0},
  };
  for (const auto& [what, descriptor, error] : kCases) {
    Sockets sockets;
    send_with(sockets.fd[1], greeting(), descriptor);
    if (descriptor >= 0) close(descriptor);
    Handshake connector(Side::kConnector, sockets.fd[0]);
    EXPECT_EQ(connector.step(), error) << what;
  }
}

TEST(Handshake, LeavesNoDescriptorOpen) {
  const auto open_now = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_now();
  {
    Sockets sockets;
    Greeting bad = greeting();
    bad.version = 7;
    const int fd = memory_file(4096, 0);
    send_with(sockets.fd[1], bad, fd);
    close(fd);
    Handshake connector(Side::kConnector, sockets.fd[0]);
    EXPECT_EQ(connector.step(), EPROTO);
  }
  EXPECT_EQ(open_now(), before);
}

}  // namespace
}  // namespace hatrpc::ring
