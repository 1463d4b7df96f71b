// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/rights.h: whether a process may do something to a file, by the file's mode.
#pragma once

#include "hatctl/doctor/host.h"

namespace hat::doctor {

inline constexpr mode_t kMayRead = 4;
inline constexpr mode_t kMayWrite = 2;
inline constexpr mode_t kMayEnter = 1;  // a folder

// `wanted`: some of these bits. The owner's bits alone count for the owner, and so the group's.
inline bool permitted(mode_t mode, uid_t uid, gid_t gid, const Process& who, mode_t wanted) {
  if (who.may(kCapDacOverride)) return true;
  const bool of_group = who.gid == gid || who.groups.contains(gid);
  const mode_t bits = who.uid == uid ? mode >> 6 : of_group ? mode >> 3 : mode;
  return (bits & wanted) == wanted;
}

}  // namespace hat::doctor
