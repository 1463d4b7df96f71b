// SPDX-License-Identifier: Apache-2.0
#include "daemon/takeover/takeover_channel.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>

namespace hat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

size_t open_descriptors() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    raw = Descriptor(fds[0]);
    channel = std::make_unique<TakeoverChannel>(Descriptor(fds[1]));
  }
  // Sends `message` unchanged, with one descriptor, as a process could that does not follow the
  // protocol.
  void send_raw(const std::string& message) const {
    const Descriptor along(open("/dev/null", O_RDONLY | O_CLOEXEC));
    iovec part{const_cast<char*>(message.data()), message.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{.msg_iov = &part,
                  .msg_iovlen = 1,
                  .msg_control = control,
                  .msg_controllen = sizeof control};
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = along.get();
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    ASSERT_EQ(sendmsg(raw.get(), &header, 0), static_cast<ssize_t>(message.size()));
  }

  Descriptor raw;
  std::unique_ptr<TakeoverChannel> channel;
};

std::string message_of(uint16_t version, uint16_t kind, uint32_t text_bytes, uint32_t bytes,
                       const std::string& rest, const std::string& magic = "hatT") {
  std::string message = magic;
  const auto put = [&](const auto& value) {
    message.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(version);
  put(kind);
  put(text_bytes);
  put(bytes);
  return message + rest;
}

TEST(TakeoverChannel, CarriesTextBytesAndDescriptors) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
  TakeoverChannel from{Descriptor(fds[0])};
  TakeoverChannel to{Descriptor(fds[1])};
  const Descriptor zero(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const std::array given = {zero.get(), zero.get()};
  ASSERT_EQ(from.send(TakeoverKind::kConnection, "tcp:127.0.0.1:9090",
                      {bytes_of("what was "), bytes_of("read")}, given),
            TakeoverChannel::Sent::kSent);
  ASSERT_EQ(from.send(TakeoverKind::kGo, ""), TakeoverChannel::Sent::kSent);

  const auto first = to.receive();
  ASSERT_TRUE(first && *first);
  const TakeoverMessage& message = **first;
  EXPECT_EQ(message.kind, TakeoverKind::kConnection);
  EXPECT_EQ(message.text, "tcp:127.0.0.1:9090");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()),
            "what was read");
  ASSERT_EQ(message.descriptors.size(), 2u);
  char byte = 1;
  EXPECT_EQ(read(message.descriptors[1].get(), &byte, 1), 1) << "it is /dev/zero";
  EXPECT_NE(fcntl(message.descriptors[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ((*to.receive())->kind, TakeoverKind::kGo);
  const auto none = to.receive();
  EXPECT_TRUE(none && !*none);
}

TEST(TakeoverChannel, CarriesAllThatAConnectionMayHold) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
  TakeoverChannel from{Descriptor(fds[0])};
  TakeoverChannel to{Descriptor(fds[1])};
  const std::string held(64 * 1024, 'h');  // as much as UnitReader::kHeldBytesMax
  const std::string backlog(64 * 1024, 'b');
  ASSERT_EQ(from.send(TakeoverKind::kConnection, "e", {bytes_of(held), bytes_of(backlog)}),
            TakeoverChannel::Sent::kSent);
  EXPECT_EQ((*to.receive())->bytes.size(), held.size() + backlog.size());
  const std::string more(TakeoverChannel::kMessageBytesMax, 'm');
  EXPECT_EQ(from.send(TakeoverKind::kConnection, "e", {bytes_of(more)}),
            TakeoverChannel::Sent::kTooLarge);
}

TEST(TakeoverChannel, RefusesWhatIsNoMessageAndClosesWhatCameAlong) {
  constexpr uint16_t kVersion = TakeoverChannel::kVersion;
  struct Case {
    std::string what;
    std::string message;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {"a cut header", message_of(kVersion, 1, 0, 0, "").substr(0, 15), "truncated"},
      {"another protocol", message_of(kVersion, 1, 0, 0, "", "GET "), "does not speak"},
      {"an older version", message_of(kVersion - 1, 1, 0, 0, ""), "version 2 of"},
      {"a newer version", message_of(kVersion + 1, 1, 0, 0, ""), "version 4 of"},
      {"too short a text", message_of(kVersion, 1, 7, 0, "host-a"), "lengths"},
      {"bytes that nobody told of", message_of(kVersion, 1, 6, 0, "host-ab"), "lengths"},
      {"lengths that overflow", message_of(kVersion, 1, 0xffffffff, 7, "host-a"), "lengths"},
      {"kind 0", message_of(kVersion, 0, 0, 0, ""), "kind 0"},
      {"an unknown kind", message_of(kVersion, 99, 0, 0, ""), "kind 99"},
      {"one that is too long", message_of(kVersion, 1, 0, 0, std::string(200'000, 'x')),
       "more than"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    const Pair pair;
    const size_t before = open_descriptors();
    pair.send_raw(one.message);
    {
      const auto received = pair.channel->receive();
      ASSERT_FALSE(received);
      EXPECT_THAT(received.error().message, HasSubstr(one.expected));
    }
    EXPECT_EQ(open_descriptors(), before);
  }
}

TEST(TakeoverChannel, UnderstandsTheRefusalOfAnyVersion) {
  const Pair pair;
  pair.send_raw(message_of(7, 2, 3, 0, "no!"));
  const auto received = pair.channel->receive();
  ASSERT_TRUE(received && *received);
  EXPECT_EQ((*received)->text, "no!");
}

TEST(TakeoverChannel, ReportsOfAFullSocketAndOfItsEnd) {
  Pair pair;
  auto sent = TakeoverChannel::Sent::kSent;
  for (int i = 0; sent == TakeoverChannel::Sent::kSent && i < 100'000; ++i) {
    sent = pair.channel->send(TakeoverKind::kConnection, "endpoint");
  }
  EXPECT_EQ(sent, TakeoverChannel::Sent::kNoRoom);
  pair.raw = Descriptor();
  EXPECT_EQ(pair.channel->send(TakeoverKind::kGo, ""), TakeoverChannel::Sent::kGone);
  const auto received = pair.channel->receive();
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, ErrorCode::kClosed);
}

TEST(TakeoverChannel, KnowsWhoIsThere) {
  const Pair pair;
  EXPECT_TRUE(pair.channel->same_user());
  EXPECT_EQ(pair.channel->pid(), getpid());
}

TEST(TakeoverChannel, ReadsAddressesFromLines) {
  EXPECT_THAT(lines_of("a\nb\n"), ElementsAre("a", "b"));
  EXPECT_THAT(lines_of("\n\na"), ElementsAre("a"));
  EXPECT_TRUE(lines_of("").empty());
}

}  // namespace
}  // namespace hat
