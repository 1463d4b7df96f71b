// SPDX-License-Identifier: Apache-2.0
#include "client/ring/handshake.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace hatrpc::ring {
namespace {

// A valid greeting has one descriptor. The code receives up to this many, and closes the others.
constexpr size_t kDescriptorsMax = 8;

}  // namespace

Handshake::Handshake(Side side, int socket, uint64_t ring_bytes, uint64_t ring_bytes_max)
    : side_(side), socket_(socket), ring_bytes_(ring_bytes), ring_bytes_max_(ring_bytes_max) {}

Handshake::~Handshake() {
  if (descriptor_ >= 0) close(descriptor_);
}

int Handshake::step() {
  if (side_ == Side::kConnector && !greeted_) {
    if (const int error = greet(Refusal::kNone); error != 0) return error;
  }
  if (const int error = receive(); error != 0) return error;
  if (std::memcmp(theirs_.magic, kMagic, sizeof kMagic) != 0) return EPROTO;
  return side_ == Side::kConnector ? connect() : accept();
}

int Handshake::receive() {
  while (received_ < greeting_bytes_) {
    iovec part{reinterpret_cast<char*>(&theirs_) + received_, greeting_bytes_ - received_};
    alignas(cmsghdr) char control[CMSG_SPACE(kDescriptorsMax * sizeof(int))];
    msghdr message{.msg_iov = &part, .msg_iovlen = 1};
    // Only a connector receives descriptors. An acceptor does not: it would have to close them, and
    // close(2) of a descriptor that the connector has chosen could block.
    if (side_ == Side::kConnector) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
    }
    const ssize_t count = recvmsg(socket_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0) return errno == EINTR ? EAGAIN : errno;
    if (count == 0) return ECONNRESET;
    received_ += static_cast<size_t>(count);
    for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
         each = CMSG_NXTHDR(&message, each)) {
      if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
      for (size_t at = CMSG_LEN(0); at + sizeof(int) <= each->cmsg_len; at += sizeof(int)) {
        if (descriptor_ >= 0) close(descriptor_);
        std::memcpy(&descriptor_, reinterpret_cast<char*>(each) + at, sizeof descriptor_);
        // Only a memfd is kept. Another descriptor could be the other side's end of this socket. If
        // this process kept that end open, it would never see the end of the connection.
        if (fcntl(descriptor_, F_GET_SEALS) < 0) close(std::exchange(descriptor_, -1));
      }
    }
  }
  return 0;
}

int Handshake::greet(Refusal refusal) {
  Greeting mine{.version = memory_ ? memory_.control().version : kVersion,
                .refusal = static_cast<uint32_t>(refusal),
                .ring_bytes = memory_ ? memory_.ring_bytes() : ring_bytes_};
  std::memcpy(mine.magic, kMagic, sizeof kMagic);
  iovec part{&mine, sizeof mine};
  msghdr message{.msg_iov = &part, .msg_iovlen = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (memory_) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = memory_.fd();
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  const ssize_t sent = sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return errno == EPIPE ? ECONNRESET : errno;
  greeted_ = true;
  return sent == ssize_t{sizeof mine} ? 0 : EPROTO;  // a new socket has space for the greeting
}

int Handshake::accept() {
  if (theirs_.version < kVersionMin) {
    greet(Refusal::kWrongVersion);
    return EPROTONOSUPPORT;
  }
  const uint64_t wished = theirs_.ring_bytes == 0 ? ring_bytes_ : theirs_.ring_bytes;
  const uint64_t bounded = std::clamp(wished, kRingBytesMin, ring_bytes_max_);
  if (Memory::create(std::bit_floor(bounded), memory_, place_) != 0) {
    greet(Refusal::kMemory);
    return ENOMEM;
  }
  memory_.control().version = std::min(theirs_.version, kVersion);
  return greet(Refusal::kNone);
}

int Handshake::connect() {
  if (theirs_.refusal == static_cast<uint32_t>(Refusal::kWrongVersion)) return EPROTONOSUPPORT;
  if (theirs_.refusal == static_cast<uint32_t>(Refusal::kMemory)) return ENOMEM;
  if (theirs_.refusal != 0 || theirs_.version < kVersionMin || theirs_.version > kVersion ||
      descriptor_ < 0)
    return EPROTO;
  const int error = Memory::map(std::exchange(descriptor_, -1), memory_);
  if (error != 0) return error;
  return memory_.ring_bytes() == theirs_.ring_bytes ? 0 : EPROTO;
}

}  // namespace hatrpc::ring
