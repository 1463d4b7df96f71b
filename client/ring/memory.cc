// SPDX-License-Identifier: Apache-2.0
#include "client/ring/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hatrpc::ring {
namespace {

constexpr int kSizeSeals = F_SEAL_GROW | F_SEAL_SHRINK;

uint64_t file_bytes(uint64_t ring_bytes) { return kControlBytes + 2 * ring_bytes; }
uint64_t mapped_bytes(uint64_t ring_bytes) { return kControlBytes + 4 * ring_bytes; }

}  // namespace

Memory& Memory::operator=(Memory&& from) noexcept {
  std::swap(fd_, from.fd_);
  std::swap(base_, from.base_);
  std::swap(ring_bytes_, from.ring_bytes_);
  return *this;
}

Memory::~Memory() {
  if (base_ != nullptr) munmap(base_, mapped_bytes(ring_bytes_));
  if (fd_ >= 0) close(fd_);
}

int Memory::create(uint64_t ring_bytes, Memory& memory,
                   const std::function<void(std::span<std::byte>)>& place) {
  Memory made;
  made.ring_bytes_ = ring_bytes;
  made.fd_ = memfd_create("hatrpc-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (made.fd_ < 0) return errno;
  if (ftruncate(made.fd_, static_cast<off_t>(file_bytes(ring_bytes))) != 0) return errno;
  if (fcntl(made.fd_, F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) return errno;
  if (const int error = made.map_all(); error != 0) return error;
  if (place) place({made.base_, mapped_bytes(ring_bytes)});
  Control& control = made.control();
  std::memcpy(control.magic, kMagic, sizeof kMagic);
  control.version = kVersion;
  control.ring_bytes = ring_bytes;
  memory = std::move(made);
  return 0;
}

int Memory::map(int fd, Memory& memory) {
  Memory mapped;
  mapped.fd_ = fd;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals) return EPERM;
  struct stat info {};
  if (fstat(fd, &info) != 0) return errno;
  const auto bytes = static_cast<uint64_t>(info.st_size);
  if (bytes <= kControlBytes) return EPROTO;
  mapped.ring_bytes_ = (bytes - kControlBytes) / 2;
  if (!valid_ring_bytes(mapped.ring_bytes_) || file_bytes(mapped.ring_bytes_) != bytes) {
    return EPROTO;
  }
  if (const int error = mapped.map_all(); error != 0) return error;
  if (mapped.control().version > kVersion) return EPROTO;
  memory = std::move(mapped);
  return 0;
}

int Memory::map_all() {
  constexpr int kRights = PROT_READ | PROT_WRITE;
  void* reserved = mmap(nullptr, mapped_bytes(ring_bytes_), PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return errno;
  base_ = static_cast<std::byte*>(reserved);
  const auto put = [&](std::byte* at, uint64_t bytes, uint64_t offset) {
    return mmap(at, bytes, kRights, MAP_SHARED | MAP_FIXED, fd_, static_cast<off_t>(offset)) !=
           MAP_FAILED;
  };
  if (!put(base_, kControlBytes, 0)) return errno;
  for (const Side writer : {Side::kConnector, Side::kAcceptor}) {
    const uint64_t offset = kControlBytes + static_cast<uint64_t>(writer) * ring_bytes_;
    std::byte* at = ring(writer);
    if (!put(at, ring_bytes_, offset) || !put(at + ring_bytes_, ring_bytes_, offset)) return errno;
  }
  return 0;
}

}  // namespace hatrpc::ring
