// SPDX-License-Identifier: Apache-2.0
// bench/atb/checksum.h: one checksum of a call's two payloads, which both sides compute.
//
// The server uses the request as it received it, and the client the answer as it received it, so a
// byte that changes in either direction makes the two checksums differ. The cost grows with the
// payloads' size, like the work of a handler (HatRPC, SC'21, 5.3).
#pragma once

#include <cstdint>
#include <string_view>

namespace hat::atb {

uint64_t checksum(std::string_view request, std::string_view answer);

}  // namespace hat::atb
