// SPDX-License-Identifier: Apache-2.0
#include "base/time_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace hat {
namespace {

constexpr uint64_t kSliceNs = 300'000;

// The arguments of sched_setattr(2), in their first version (Linux 3.14). The C library of Debian
// 12 does not declare them.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;  // for SCHED_OTHER on Linux 6.12 and later: the time slice
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

}  // namespace

bool request_short_time_slices() {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return false;
  if (attributes.policy != SCHED_OTHER) return true;
  attributes.runtime_ns = kSliceNs;
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace hat
