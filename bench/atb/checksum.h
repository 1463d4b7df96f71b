// SPDX-License-Identifier: Apache-2.0
// bench/atb/checksum.h: one number for the payloads of a call and its answer; both sides compute
// it.
//
// The server has it of the request as it came, the client of the answer as it came: a byte that
// changed on either way makes the two differ. What it costs grows with the payloads, as a handler's
// work would (HatRPC, SC'21, 5.3).
#pragma once

#include <cstdint>
#include <string_view>

namespace hat::atb {

uint64_t checksum(std::string_view request, std::string_view answer);

}  // namespace hat::atb
