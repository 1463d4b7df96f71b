// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/rights.h: decides whether the mode of a file permits a process to access the file.
#pragma once

#include "hatctl/doctor/host.h"

namespace hat::doctor {

inline constexpr mode_t kMayRead = 4;
inline constexpr mode_t kMayWrite = 2;
inline constexpr mode_t kMayEnter = 1;  // enter a folder

// Returns true if the process may access a file with this mode, owner and group in all ways of
// `wanted`, a combination of kMayRead, kMayWrite and kMayEnter. Only the owner's bits of the mode
// count for the owner, and only the group's bits for another member of the group. The capability
// CAP_DAC_OVERRIDE permits every access.
inline bool permitted(mode_t mode, uid_t uid, gid_t gid, const Process& who, mode_t wanted) {
  if (who.may(kCapDacOverride)) return true;
  const bool of_group = who.gid == gid || who.groups.contains(gid);
  const mode_t bits = who.uid == uid ? mode >> 6 : of_group ? mode >> 3 : mode;
  return (bits & wanted) == wanted;
}

}  // namespace hat::doctor
