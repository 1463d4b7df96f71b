// SPDX-License-Identifier: Apache-2.0
// engine/fabric/verbs/gid.h: ranks the entries of a RoCE port's table of GIDs (addresses). The
// verbs fabric chooses a GID by this rank, and `hatctl doctor` checks this choice.
//
// Source   UCX's uct_ib_device_select_gid.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace hat::engine {

using GidBytes = std::array<uint8_t, 16>;

// Returns 3 for RoCE v2 over IPv4, 2 for RoCE v2 over IPv6, and 1 for RoCE v1. Returns 0 for an
// empty or link-local GID, which must not be used.
int gid_rank(const GidBytes& gid, bool roce_v2);

bool is_ipv4(const GidBytes& gid);          // such as "::ffff:10.77.0.1"
std::string gid_text(const GidBytes& gid);  // as an IPv6 address

}  // namespace hat::engine
