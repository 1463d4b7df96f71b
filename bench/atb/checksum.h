// SPDX-License-Identifier: Apache-2.0
// bench/atb/checksum.h: the checksum of a call's request and answer payloads, which the client and
// the server both compute.
//
// The server uses the request that it received, and the client uses the answer that it received. If
// a byte changes on the way, the two checksums differ. The time to compute the checksum grows with
// the payloads' size, like the work of a real handler (HatRPC, SC'21, 5.3).
#pragma once

#include <cstdint>
#include <string_view>

namespace hat::atb {

uint64_t checksum(std::string_view request, std::string_view answer);

}  // namespace hat::atb
