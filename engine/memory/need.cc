// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/need.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/quantities.h"

namespace hat::engine {
namespace {

constexpr unsigned kCapIpcLock = 14;  // capabilities(7)

// Returns the number in a line such as "Name:   123 kB" of the file `path` in /proc. Returns 0 if
// the file has no line with this name.
uint64_t field(const char* path, std::string_view name, std::ios_base& (*base)(std::ios_base&)) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    std::istringstream words(line.substr(name.size() + 1));
    uint64_t value = 0;
    words >> base >> value;
    return value;
  }
  return 0;
}

}  // namespace

void MemoryNeed::add(std::string_view what, uint64_t count, uint64_t bytes_each) {
  if (count != 0 && bytes_each != 0) lines_.push_back({std::string(what), count, bytes_each});
}

uint64_t MemoryNeed::total() const {
  uint64_t sum = 0;
  for (const Line& line : lines_) sum += line.count * line.bytes_each;
  return sum;
}

std::string MemoryNeed::text() const {
  std::string text = size_text(total()) + " =";
  for (size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    text += (i == 0 ? " " : " + ") + line.what + " " + std::to_string(line.count) + " x " +
            std::to_string(line.bytes_each) + " B";
  }
  return text;
}

MemoryLimits this_host_memory() {
  MemoryLimits limits;
  rlimit memlock{};
  const uint64_t capabilities = field("/proc/self/status", "CapEff", std::hex);
  const bool may_lock_all = (capabilities >> kCapIpcLock & 1) != 0;
  if (getrlimit(RLIMIT_MEMLOCK, &memlock) == 0 && memlock.rlim_cur != RLIM_INFINITY &&
      !may_lock_all) {
    limits.memlock = memlock.rlim_cur;
  }
  limits.pinned = field("/proc/self/status", "VmPin", std::dec) << 10;
  if (const uint64_t kib = field("/proc/meminfo", "MemAvailable", std::dec)) {
    limits.available = kib << 10;
  }
  return limits;
}

Result<void> check(const MemoryNeed& need, const MemoryLimits& limits) {
  const uint64_t bytes = need.total();
  const std::string wanted = "; the memory is " + need.text();
  if (bytes > limits.memlock - std::min(limits.pinned, limits.memlock)) {
    const std::string in_use =
        limits.pinned == 0 ? "" : ", of which " + size_text(limits.pinned) + " are in use";
    return fail(ErrorCode::kExhausted,
                "memlock allows " + size_text(limits.memlock) + in_use + ", and RDMA needs " +
                    size_text(bytes) +
                    " of locked memory: raise LimitMEMLOCK (systemd) or `ulimit -l`, or lower "
                    "fabric.max_pinned" +
                    wanted);
  }
  if (kRegionsNeeded > limits.regions) {
    return fail(ErrorCode::kExhausted, "the device has " + std::to_string(limits.regions) +
                                           " memory keys and " + std::to_string(kRegionsNeeded) +
                                           " are needed: use another device, or `fabric: tcp`");
  }
  if (bytes > limits.available) {
    return fail(ErrorCode::kExhausted, "RDMA needs " + size_text(bytes) + " of memory and " +
                                           size_text(limits.available) +
                                           " are free: lower fabric.max_pinned" + wanted);
  }
  return {};
}

}  // namespace hat::engine
