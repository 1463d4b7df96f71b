// SPDX-License-Identifier: Apache-2.0
// engine/fabric/verbs/gid.h: what an entry of a RoCE port's GID table is worth to the fabric: the
// rule by which it chooses, also for whoever has the table from elsewhere (hatctl doctor, from
// /sys).
//
// Source   UCX's uct_ib_device_select_gid.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace hat::engine {

using GidBytes = std::array<uint8_t, 16>;

// RoCE v2 over IPv4: 3, over IPv6: 2; RoCE v1: 1; empty or link-local, never to be used: 0.
int gid_rank(const GidBytes& gid, bool roce_v2);

bool is_ipv4(const GidBytes& gid);          // "::ffff:10.77.0.1"
std::string gid_text(const GidBytes& gid);  // as an IPv6 address

}  // namespace hat::engine
