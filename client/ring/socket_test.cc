// SPDX-License-Identifier: Apache-2.0
// client/ring/socket_test.cc: tests blocking reads and writes: time-outs, interrupts, the end.
#include "client/ring/socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "client/ring/handshake.h"

namespace hatrpc::ring {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Ends {
  Ends() {
    int sockets[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    std::thread accepting(
        [&] { EXPECT_EQ(Socket::open(Side::kAcceptor, sockets[1], 1000, server), 0); });
    EXPECT_EQ(Socket::open(Side::kConnector, sockets[0], 1000, client), 0);
    accepting.join();
  }
  std::unique_ptr<Socket> client;
  std::unique_ptr<Socket> server;
};

// A client whose acceptor has only the descriptor and the memory of the connection. The test must
// close the descriptor.
struct RawServer {
  RawServer() {
    int sockets[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    fd = sockets[1];
    std::thread connecting(
        [&] { EXPECT_EQ(Socket::open(Side::kConnector, sockets[0], 1000, client), 0); });
    Handshake handshake(Side::kAcceptor, fd);
    while (handshake.step() == EAGAIN) std::this_thread::yield();
    connecting.join();
    memory = handshake.take_memory();
  }
  std::unique_ptr<Socket> client;
  int fd = -1;
  Memory memory;
};

TEST(Socket, ReadsWhatWasWritten) {
  Ends ends;
  EXPECT_EQ(ends.client->write_all("hello", 5, kForever), 0);
  char text[16];
  EXPECT_EQ(ends.server->read(text, 2, kForever), 2);
  EXPECT_EQ(ends.server->read(text + 2, 14, kForever), 3);
  EXPECT_EQ(std::string(text, 5), "hello");
}

TEST(Socket, WakesAReaderThatSleeps) {
  Ends ends;
  std::thread late([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(ends.client->write_all("late", 4, kForever), 0);
  });
  char text[16];
  EXPECT_EQ(ends.server->read(text, sizeof text, kForever), 4);
  late.join();
}

TEST(Socket, WakesAReaderThatHasSleptForLong) {
  Ends ends;
  std::thread late([&] {
    std::this_thread::sleep_for(120ms);  // the reader no longer sleeps on the futex
    EXPECT_EQ(ends.client->write_all("late", 4, kForever), 0);
  });
  char text[16];
  EXPECT_EQ(ends.server->read(text, sizeof text, kForever), 4);
  late.join();
}

// Closes the connection as the death of the other process does: nobody wakes the futex.
TEST(Socket, NoticesTheDeathOfTheOtherSideWhileItSleeps) {
  RawServer server;
  std::thread dying([&] {
    std::this_thread::sleep_for(10ms);
    close(server.fd);
  });
  char byte;
  const auto from = Clock::now();
  EXPECT_EQ(server.client->read(&byte, 1, 10'000), 0);
  EXPECT_LT(Clock::now() - from, 5s);
  dying.join();
}

TEST(Socket, WritesMoreThanTheRingHolds) {
  Ends ends;
  const std::string all(3'000'000, 'x');
  std::thread writer([&] { EXPECT_EQ(ends.client->write_all(all.data(), all.size(), 5000), 0); });
  std::string read;
  char part[70'000];
  while (read.size() < all.size()) {
    const ssize_t count = ends.server->read(part, sizeof part, 5000);
    ASSERT_GT(count, 0);
    read.append(part, static_cast<size_t>(count));
    if (read.size() % 7 == 0) std::this_thread::sleep_for(1ms);
  }
  writer.join();
  EXPECT_TRUE(read == all);
}

TEST(Socket, TimesOutReadingAndWriting) {
  Ends ends;
  char byte;
  auto from = Clock::now();
  EXPECT_EQ(ends.server->read(&byte, 1, 30), -EAGAIN);
  EXPECT_GE(Clock::now() - from, 29ms);
  EXPECT_EQ(ends.server->read(&byte, 1, 0), -EAGAIN);
  const std::string much(kRingBytesDefault + 1, 'x');
  from = Clock::now();
  EXPECT_EQ(ends.client->write_all(much.data(), much.size(), 30), EAGAIN);
  EXPECT_GE(Clock::now() - from, 29ms);
}

TEST(Socket, IsInterrupted) {
  Ends ends;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  std::thread interrupter([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(write(pipe_ends[1], "", 1), 1);
  });
  char byte;
  EXPECT_EQ(ends.server->read(&byte, 1, kForever, pipe_ends[0]), -EINTR);
  interrupter.join();
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(Socket, EndsWhenTheOtherSideEndsOrGoes) {
  Ends ends;
  char text[8];
  EXPECT_EQ(ends.client->write_all("bye", 3, kForever), 0);
  ends.client->end_writes();
  EXPECT_EQ(ends.client->write_all("more", 4, kForever), EPIPE);
  EXPECT_EQ(ends.server->read(text, sizeof text, kForever), 3);
  EXPECT_EQ(ends.server->read(text, sizeof text, kForever), 0);
  EXPECT_TRUE(ends.server->alive());
  EXPECT_EQ(ends.server->write_all("reply", 5, kForever), 0);
  EXPECT_EQ(ends.client->read(text, sizeof text, kForever), 5);

  std::thread leaver([&] {
    std::this_thread::sleep_for(10ms);
    ends.server.reset();
  });
  EXPECT_EQ(ends.client->read(text, sizeof text, kForever), 0);
  leaver.join();
  EXPECT_FALSE(ends.client->alive());
}

TEST(Socket, DistinguishesAnEndFromAnAbort) {
  RawServer server;
  {
    Channel channel(server.fd, std::move(server.memory), Side::kAcceptor);
    channel.end_writes(End::kAborted);
  }
  char byte;
  EXPECT_EQ(server.client->read(&byte, 1, kForever), -ECONNRESET);
}

TEST(Socket, HasItsReaderAndItsWriterSleepAtOnce) {
  Ends ends;
  const std::string much(2 * kRingBytesDefault, 'x');
  std::thread writer([&] { EXPECT_EQ(ends.client->write_all(much.data(), much.size(), 5000), 0); });
  std::thread reader([&] {
    char byte;
    EXPECT_EQ(ends.client->read(&byte, 1, 5000), 1);
  });
  std::this_thread::sleep_for(20ms);  // afterwards the reader and the writer sleep
  std::string all(much.size(), ' ');
  for (size_t at = 0; at < all.size();) {
    const ssize_t count = ends.server->read(all.data() + at, all.size() - at, 5000);
    ASSERT_GT(count, 0);
    at += static_cast<size_t>(count);
  }
  writer.join();
  EXPECT_EQ(ends.server->write_all("!", 1, 5000), 0);
  reader.join();
}

}  // namespace
}  // namespace hatrpc::ring
