// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/fake_ring_side.h: plays, in ring_fuzz.cc, the side of a shared-memory ring to
// which a RingStream is connected: a fuzz input decides whether this side keeps the ring's rules.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/ring/layout.h"
#include "tests/fuzz/input.h"

namespace hat {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "ring_fuzz: %s\n", what);
  std::abort();
}

// Returns byte number `n` of the data that a side sends while it keeps the rules; it is the same in
// both directions.
inline std::byte pattern(uint64_t n) { return static_cast<std::byte>(n * 7 + (n >> 8)); }

using hatrpc::ring::Control;
using hatrpc::ring::Greeting;
using hatrpc::ring::kControlBytes;
using hatrpc::ring::kForData;
using hatrpc::ring::kForSpace;
using hatrpc::ring::kMagic;
using hatrpc::ring::kRingBytesMin;
using hatrpc::ring::kVersion;
using hatrpc::ring::Lines;
using hatrpc::ring::other;
using hatrpc::ring::Side;
using hatrpc::ring::valid_ring_bytes;

// The end of a ring connection that a fuzz input drives. It maps the shared memory at most once.
class Rogue {
 public:
  Rogue(FuzzInput& input, Side side, int socket) : input_(input), side_(side), socket_(socket) {}
  ~Rogue() {
    hang_up();
    if (base_ != nullptr) munmap(base_, mapped_);
    if (memory_ >= 0) close(memory_);
  }
  Rogue(const Rogue&) = delete;
  Rogue& operator=(const Rogue&) = delete;

  bool mapped() const { return base_ != nullptr; }
  bool kept_rules() const { return mapped() && kept_rules_; }
  uint64_t sent() const { return sent_; }
  // Returns true if this side has sent more than `read` bytes.
  bool has_sent_more_than(uint64_t read) const { return sent_ > read; }

  // --- The greeting ---

  void greet() {
    Greeting mine{.version = kVersion};
    std::memcpy(mine.magic, kMagic, sizeof kMagic);
    mine.ring_bytes = kRingBytesMin;
    const uint8_t lies = input_.next();
    if (lies != 0) kept_rules_ = false;
    std::vector<int> come_along;
    if (side_ == Side::kAcceptor) come_along.push_back(memory_ < 0 ? make_memory(lies) : memory_);
    if ((lies & 1) != 0) lie(reinterpret_cast<std::byte*>(&mine), sizeof mine);
    if ((lies & 2) != 0) come_along.clear();
    for (int extra = lies & 4 ? input_.next() % 12 : 0; extra > 0; --extra) {
      come_along.push_back(baggage());
    }
    send_in_pieces(reinterpret_cast<const char*>(&mine), sizeof mine, come_along);
  }

  // Maps the memory that arrives with the acceptor's greeting. Does nothing if this side is not a
  // connector, or if the greeting has not arrived.
  void take_memory() {
    if (side_ != Side::kConnector || mapped() || socket_ < 0) return;
    Greeting theirs{};
    iovec part{&theirs, sizeof theirs};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{.msg_iov = &part, .msg_iovlen = 1};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(socket_, &message, MSG_DONTWAIT) != sizeof theirs) return;
    require(std::memcmp(theirs.magic, kMagic, sizeof kMagic) == 0, "it greets wrongly");
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    require((header != nullptr) == (theirs.refusal == 0), "memory comes, or a refusal");
    if (header == nullptr) return;
    std::memcpy(&memory_, CMSG_DATA(header), sizeof memory_);
    require(valid_ring_bytes(theirs.ring_bytes), "its rings have no size");
    require(ftruncate(memory_, 0) != 0 && ftruncate(memory_, 1 << 30) != 0, "its size changes");
    map(theirs.ring_bytes);
  }

  // --- Operations that keep the ring's rules ---

  void send_bytes(size_t wanted) {
    if (!kept_rules() || ended_) return;
    const uint64_t used = sent_ - peek(lines(other(side_)).consumed);
    require(used <= ring_bytes_, "it has read what was never written");
    if (used == 0) lines(side_).origin.store(origin_ = sent_ * 0x9e3779b97f4a7c15);  // any number
    const size_t count = std::min<size_t>(wanted, ring_bytes_ - used);
    for (size_t i = 0; i < count; ++i, ++sent_) {
      ring(side_)[(sent_ - origin_) % ring_bytes_] = pattern(sent_);
    }
    lines(side_).written.store(sent_);
    ring_for(kForData);
  }

  void take_bytes() {
    if (!kept_rules()) return;
    const uint64_t there = peek(lines(other(side_)).written);
    require(there - taken_ <= ring_bytes_, "it has written what there was no room for");
    const uint64_t origin = peek(lines(other(side_)).origin);
    for (; taken_ != there; ++taken_) {
      const std::byte came = ring(other(side_))[(taken_ - origin) % ring_bytes_];
      require(came == pattern(taken_), "wrong bytes came");
    }
    lines(side_).consumed.store(taken_);
    ring_for(kForSpace);
  }

  void end_writes() {
    if (!kept_rules()) return;
    ended_ = true;
    lines(side_).ended.store(1 + input_.next() % 2);
    ring_for(kForData);
  }
  bool ended() const { return ended_; }

  void sleep() {
    if (mapped()) lines(side_).waits.fetch_or(input_.next() % 4);
  }

  // --- Operations that break the ring's rules ---

  void store_anything() {
    if (!mapped()) return;
    kept_rules_ = false;
    Lines& whose = lines(static_cast<Side>(input_.next() % 2));
    switch (input_.next() % 8) {
      case 0:
        return whose.written.store(any_number(peek(whose.written)));
      case 1:
        return whose.consumed.store(any_number(peek(whose.consumed)));
      case 2:
        return whose.ended.store(static_cast<uint32_t>(any_number(0)));
      case 3:
        return whose.waits.store(static_cast<uint32_t>(any_number(0)));
      case 4:
        control().ring_bytes = any_number(ring_bytes_);
        return;
      case 5:
        return lie(base_, sizeof(Control));
      case 6:
        return whose.origin.store(any_number(peek(whose.origin)));
      default:
        return lie(base_ + kControlBytes, 2 * ring_bytes_);
    }
  }

  void flood() {
    std::array<char, 4096> bells;
    bells.fill(static_cast<char>(input_.next()));
    const size_t count = size_t{input_.next()} * 16 + 1;
    send(socket_, bells.data(), count, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  void ring_with_descriptors() {
    if (socket_ >= 0) send_with("bell", 4, std::vector<int>(1 + input_.next() % 8, baggage()));
  }
  void drain() {
    if (!mapped()) return;  // otherwise this would read the greeting
    std::array<char, 64> bells;
    while (recv(socket_, bells.data(), bells.size(), MSG_DONTWAIT) > 0 && input_.next() != 0) {
    }
  }
  // Removes pages of the shared memory. They then read as zeros; access to them must not fault.
  void punch_hole() {
    if (!mapped()) return;
    kept_rules_ = false;
    fallocate(memory_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096 * input_.next(), 65536);
  }
  void half_close() {
    kept_rules_ = false;
    shutdown(socket_, input_.next() % 3);
  }
  void hang_up() {
    kept_rules_ = false;
    if (socket_ >= 0) close(std::exchange(socket_, -1));
  }

 private:
  Control& control() const { return *reinterpret_cast<Control*>(base_); }
  Lines& lines(Side side) const { return control().sides[static_cast<size_t>(side)]; }
  std::byte* ring(Side writer) const {
    return base_ + kControlBytes + (writer == Side::kConnector ? 0 : ring_bytes_);
  }
  static uint64_t peek(const std::atomic<uint64_t>& word) { return word.load(); }

  // Returns a descriptor that the receiver does not expect: this side's own end of the socket. The
  // receiver must close its copy.
  int baggage() { return socket_; }

  int make_memory(uint8_t lies) {
    memory_ = memfd_create("ring_fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const uint8_t how = lies & 8 ? input_.next() : 0;
    uint64_t size = kControlBytes + 2 * kRingBytesMin;
    if ((how & 1) != 0) size += static_cast<uint64_t>(input_.next() - 128) * 1024;
    if ((how & 2) != 0) size = input_.next();
    require(ftruncate(memory_, static_cast<off_t>(size)) == 0, "no memory to lie with");
    int seals = F_SEAL_GROW | F_SEAL_SHRINK;
    if ((how & 4) != 0) seals = input_.next() & 0x1f;
    fcntl(memory_, F_ADD_SEALS, seals);
    if (how == 0) {
      map(kRingBytesMin);
      std::memcpy(control().magic, kMagic, sizeof kMagic);
      control().version = kVersion;
      control().ring_bytes = ring_bytes_;
    }
    return memory_;
  }

  void map(uint64_t ring_bytes) {
    ring_bytes_ = ring_bytes;
    mapped_ = kControlBytes + 2 * ring_bytes;
    void* at = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
    require(at != MAP_FAILED, "the memory cannot be mapped");
    base_ = static_cast<std::byte*>(at);
  }

  void lie(std::byte* at, size_t bytes) {
    const size_t from = size_t{input_.next()} * input_.next() % bytes;
    const std::string lies = input_.next_bytes();
    std::memcpy(at + from, lies.data(), std::min(lies.size(), bytes - from));
  }

  uint64_t any_number(uint64_t now) {
    const uint8_t little = input_.next();
    switch (input_.next() % 6) {
      case 0:
        return now + little;
      case 1:
        return now - little;
      case 2:
        return now + ring_bytes_ + little - 128;
      case 3:
        return little;
      case 4:
        return UINT64_MAX - little;
      default: {
        uint64_t any = 0;
        for (int i = 0; i < 8; ++i) any = any << 8 | input_.next();
        return any;
      }
    }
  }

  void ring_for(uint32_t what) {
    if ((lines(other(side_)).waits.fetch_and(~what) & what) == 0) return;
    send(socket_, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  void send_in_pieces(const char* from, size_t bytes, const std::vector<int>& come_along) {
    size_t first = input_.next();
    first = first == 0 || first > bytes ? bytes : first;
    send_with(from, first, come_along);
    if (first == bytes) return;
    if (input_.next() % 8 == 0) {
      kept_rules_ = false;
    } else {
      send_with(from + first, bytes - first, {});
    }
  }

  void send_with(const char* from, size_t bytes, const std::vector<int>& descriptors) {
    iovec part{const_cast<char*>(from), bytes};
    msghdr message{.msg_iov = &part, .msg_iovlen = 1};
    alignas(cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))] = {};
    if (!descriptors.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
    }
    sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  FuzzInput& input_;
  const Side side_;
  int socket_;
  int memory_ = -1;
  std::byte* base_ = nullptr;
  size_t mapped_ = 0;
  uint64_t ring_bytes_ = 0;
  uint64_t sent_ = 0;
  uint64_t origin_ = 0;  // this side's Lines::origin while it keeps the rules
  uint64_t taken_ = 0;
  bool ended_ = false;
  bool kept_rules_ = true;
};

}  // namespace hat
