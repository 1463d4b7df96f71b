// SPDX-License-Identifier: Apache-2.0
#include "daemon/takeover/takeover_channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace hat {
namespace {

struct Header {
  std::array<char, 4> magic;
  uint16_t version;
  uint16_t kind;
  uint32_t text_bytes;
  uint32_t bytes;
};
static_assert(sizeof(Header) == 16);

constexpr std::array kMagic = {'h', 'a', 't', 'T'};
constexpr size_t kPartsMax = 4;

using Rights = std::array<char, CMSG_SPACE(TakeoverChannel::kDescriptorsMax * sizeof(int))>;

void attach(msghdr& message, Rights& control, std::span<const int> descriptors) {
  if (descriptors.empty()) return;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
}

// Returns the descriptors that arrived with `message`. The caller owns them.
std::vector<Descriptor> detach(msghdr& message) {
  std::vector<Descriptor> descriptors;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
       each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= each->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, reinterpret_cast<const char*>(each) + at, sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
  return descriptors;
}

Result<TakeoverMessage> read_message(std::span<const std::byte> raw,
                                     std::vector<Descriptor> descriptors) {
  Header header;
  if (raw.size() < sizeof header)
    return fail(ErrorCode::kProtocol, "the other process sent a truncated message");
  std::memcpy(&header, raw.data(), sizeof header);
  raw = raw.subspan(sizeof header);
  if (header.magic != kMagic)
    return fail(ErrorCode::kProtocol, "the other process does not speak the takeover protocol");
  const auto kind = static_cast<TakeoverKind>(header.kind);
  if (header.version != TakeoverChannel::kVersion && kind != TakeoverKind::kRefuse) {
    return fail(ErrorCode::kUnsupported,
                "the other process speaks version " + std::to_string(header.version) +
                    " of the takeover protocol, this hatrpcd speaks version " +
                    std::to_string(TakeoverChannel::kVersion));
  }
  if (size_t{header.text_bytes} + header.bytes != raw.size()) {
    return fail(ErrorCode::kProtocol, "the other process sent a message whose lengths are wrong");
  }
  if (kind < TakeoverKind::kHello || kind > TakeoverKind::kServerConnection) {
    return fail(ErrorCode::kProtocol,
                "it sent a message of unknown kind " + std::to_string(header.kind));
  }
  TakeoverMessage message{.kind = kind, .descriptors = std::move(descriptors)};
  message.text.assign(reinterpret_cast<const char*>(raw.data()), header.text_bytes);
  const auto bytes = raw.subspan(header.text_bytes);
  message.bytes.assign(bytes.begin(), bytes.end());
  return message;
}

ucred credentials(int fd) {
  ucred who{.pid = 0, .uid = static_cast<uid_t>(-1), .gid = static_cast<gid_t>(-1)};
  socklen_t size = sizeof who;
  getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size);
  return who;
}

}  // namespace

TakeoverChannel::TakeoverChannel(Descriptor socket) : socket_(std::move(socket)) {
  const int bytes = 4 * kMessageBytesMax;  // the kernel reduces this value to its own limit
  setsockopt(fd(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

bool TakeoverChannel::same_user() const {
  const uid_t who = credentials(fd()).uid;
  return who == 0 || who == geteuid();
}

int TakeoverChannel::pid() const { return credentials(fd()).pid; }

TakeoverChannel::Sent TakeoverChannel::send(TakeoverKind kind, std::string_view text,
                                            std::initializer_list<std::span<const std::byte>> bytes,
                                            std::span<const int> descriptors) {
  Header header{kMagic, kVersion, static_cast<uint16_t>(kind), static_cast<uint32_t>(text.size()),
                0};
  std::array<iovec, kPartsMax> parts;
  parts[0] = {&header, sizeof header};
  parts[1] = {const_cast<char*>(text.data()), text.size()};
  size_t count = 2;
  size_t total = sizeof header + text.size();
  if (bytes.size() > kPartsMax - count) return Sent::kTooLarge;
  for (const auto part : bytes) {
    parts[count++] = {const_cast<std::byte*>(part.data()), part.size()};
    header.bytes += static_cast<uint32_t>(part.size());
    total += part.size();
  }
  if (total > kMessageBytesMax || descriptors.size() > kDescriptorsMax) return Sent::kTooLarge;
  msghdr message{.msg_iov = parts.data(), .msg_iovlen = count};
  alignas(cmsghdr) Rights control{};
  attach(message, control, descriptors);
  if (sendmsg(fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return Sent::kSent;
  switch (errno) {
    case EAGAIN:
    case EINTR:
    case ENOBUFS:
    case ENOMEM:
    case ETOOMANYREFS:  // too many sent descriptors have not been received yet
      return Sent::kNoRoom;
    case EMSGSIZE:
      return Sent::kTooLarge;
    default:
      return Sent::kGone;
  }
}

Result<std::optional<TakeoverMessage>> TakeoverChannel::receive(bool wait) {
  if (buffer_.empty()) buffer_.resize(kMessageBytesMax);
  iovec whole{buffer_.data(), buffer_.size()};
  alignas(cmsghdr) Rights control;
  msghdr message{.msg_iov = &whole,
                 .msg_iovlen = 1,
                 .msg_control = control.data(),
                 .msg_controllen = control.size()};
  const int flags = MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT);
  ssize_t count = 0;
  do {
    count = recvmsg(fd(), &message, flags);
  } while (wait && count < 0 && errno == EINTR);
  // ECONNRESET means that the other side closed its socket with unread messages. The kernel reports
  // this error once; the messages that the other side had sent can still be read.
  if (count < 0 && errno == ECONNRESET) count = recvmsg(fd(), &message, flags);
  if (count < 0) {
    if (errno == EAGAIN || errno == EINTR) return std::nullopt;
    return fail(ErrorCode::kClosed, kEnded);
  }
  auto descriptors = detach(message);
  if (count == 0) return fail(ErrorCode::kClosed, kEnded);
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return fail(ErrorCode::kProtocol,
                "the other process sent more than a message may hold, or this process has reached "
                "its limit of open "
                "descriptors");
  }
  auto read =
      read_message(std::span(buffer_).first(static_cast<size_t>(count)), std::move(descriptors));
  if (!read) return std::unexpected(std::move(read.error()));
  return std::optional<TakeoverMessage>(std::move(*read));
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end != 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace hat
