// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/takeover_fuzz.cc: sends arbitrary bytes with any number of descriptors through a
// TakeoverChannel. A message that the channel accepts must arrive unchanged when it is sent again.
// No descriptor may stay open.
//
// Input: u8 number of descriptors, then the message. The target also decodes the message's bytes as
// a DetachedConnection.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "daemon/proxy/inbound/detached_connections.h"
#include "daemon/takeover/takeover_channel.h"

namespace hat {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

// Returns the number of the descriptor that would be opened next. The number grows if a descriptor
// was left open.
int next_descriptor() { return Descriptor(dup(STDIN_FILENO)).get(); }

void send_raw(int to, std::span<const std::byte> message, size_t descriptors) {
  constexpr size_t kMax = 200;  // more descriptors than a channel accepts
  std::array<int, kMax> all;
  all.fill(STDIN_FILENO);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof all)> control{};
  iovec body{const_cast<std::byte*>(message.data()), message.size()};
  msghdr raw{.msg_iov = &body, .msg_iovlen = 1};
  if (descriptors != 0) {
    const size_t bytes = std::min(descriptors, kMax) * sizeof(int);
    raw.msg_control = control.data();
    raw.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&raw);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), all.data(), bytes);
  }
  [[maybe_unused]] const auto sent = sendmsg(to, &raw, MSG_DONTWAIT | MSG_NOSIGNAL);
}

struct Pair {
  static Pair make() {
    std::array<int, 2> ends{};
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    return {TakeoverChannel(Descriptor(ends[0])), TakeoverChannel(Descriptor(ends[1]))};
  }
  TakeoverChannel one;
  TakeoverChannel other;
};

void take_message(std::span<const std::byte> raw, size_t descriptors) {
  Pair pair = Pair::make();
  send_raw(pair.one.fd(), raw, descriptors);
  const auto got = pair.other.receive();
  if (!got) return require(!got.error().message.empty());
  if (!*got) return;
  const TakeoverMessage& message = **got;
  require(message.descriptors.size() == descriptors);
  std::vector<int> fds;
  for (const Descriptor& one : message.descriptors) fds.push_back(one.get());
  require(pair.other.send(message.kind, message.text, {message.bytes}, fds) ==
          TakeoverChannel::Sent::kSent);
  const auto again = pair.one.receive();
  require(again && *again && (*again)->kind == message.kind && (*again)->text == message.text &&
          (*again)->bytes == message.bytes && (*again)->descriptors.size() == descriptors);
  for (const std::string& line : lines_of(message.text)) require(!line.contains('\n'));
}

void take_detached(std::span<const std::byte> bytes) {
  const auto connection = decode_detached(bytes);
  if (!connection) return;
  const auto encoded = encode(*connection);
  const auto again = decode_detached(encoded);
  require(again && same(encode(*again), encoded));
}

}  // namespace
}  // namespace hat

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const int before = hat::next_descriptor();
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  hat::take_message(bytes, data[0]);
  hat::take_detached(bytes);
  hat::require(hat::next_descriptor() == before);
  return 0;
}
