// SPDX-License-Identifier: Apache-2.0
#include "base/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/system_error.h"

namespace hat {
namespace {

constexpr int kSizeSeals = F_SEAL_GROW | F_SEAL_SHRINK;

std::unexpected<Error> failed(const char* what) {
  return fail_errno(std::string("shared memory: ") + what, errno);
}

}  // namespace

Result<SharedMemory> SharedMemory::create(const char* name, size_t bytes) {
  SharedMemory memory(Descriptor(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (memory.fd() < 0) return failed("memfd_create");
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t rounded = (bytes + page - 1) / page * page;
  if (ftruncate(memory.fd(), static_cast<off_t>(rounded)) != 0) return failed("ftruncate");
  if (fcntl(memory.fd(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) return failed("sealing");
  HAT_TRY_VOID(memory.map_all());
  return memory;
}

Result<SharedMemory> SharedMemory::map(Descriptor memfd) {
  SharedMemory memory(std::move(memfd));
  const int seals = fcntl(memory.fd(), F_GET_SEALS);
  if (seals < 0) return failed("the received descriptor is not a memfd");
  if ((seals & kSizeSeals) != kSizeSeals) {
    return fail(ErrorCode::kProtocol,
                "shared memory: the received memfd is not sealed against growing and shrinking");
  }
  HAT_TRY_VOID(memory.map_all());
  return memory;
}

Result<void> SharedMemory::map_all() {
  struct stat info {};
  if (fstat(fd(), &info) != 0) return failed("fstat");
  if (info.st_size == 0)
    return fail(ErrorCode::kProtocol, "shared memory: the received memfd is empty");
  const auto size = static_cast<size_t>(info.st_size);
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd(), 0);
  if (at == MAP_FAILED) return failed("mmap");
  bytes_ = {static_cast<std::byte*>(at), size};
  return {};
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : memfd_(std::move(other.memfd_)), bytes_(std::exchange(other.bytes_, {})) {}

SharedMemory::~SharedMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace hat
