// SPDX-License-Identifier: Apache-2.0
// engine/served_times.h: how long a call was at the server's host, as the first frame of the reply
// (kReply) reports it to the client's daemon.
//
// The sum has 16 bits in FrameHeader::replies, which has no other use in this frame: 5 bits of
// exponent e and 11 bits of mantissa m. Its value in µs, rounded down, is
//
//   m                     if e is 0; the code 0 means that the time is not known (older daemons)
//   (2048 + m) · 2^(e−1)  otherwise
//
// so that the client's daemon can compute the time between the hosts with an error of at most
// 1/2048 of this sum. How many eighths of the sum the call has waited in the server's daemon has 3
// bits in FrameHeader::flags (kWaitedMask).
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>

#include "engine/frame.h"

namespace hat::engine {

struct ServedTimes {
  std::chrono::nanoseconds total{};  // from the call's arrival to the first byte of the reply
  // The part of it before a part of the request was passed to the connection to the server.
  std::chrono::nanoseconds waited{};
};

// Returns the code for a time. A time below 1 µs has the code of 1 µs.
constexpr uint16_t time_code(std::chrono::nanoseconds time) {
  constexpr int kMantissaBits = 11;
  const auto microseconds = static_cast<uint64_t>(std::max<int64_t>(time.count() / 1000, 1));
  const int bits = static_cast<int>(std::bit_width(microseconds));
  const int shift = std::max(0, bits - (kMantissaBits + 1));
  if (shift > 30) return UINT16_MAX;
  const uint64_t scaled = microseconds >> shift;  // below 4096, and from 2048 on if shift is not 0
  const bool is_normal = scaled >= 2048;
  const uint64_t exponent = is_normal ? static_cast<uint64_t>(shift) + 1 : 0;
  return static_cast<uint16_t>(exponent << kMantissaBits | (is_normal ? scaled - 2048 : scaled));
}

constexpr std::chrono::nanoseconds time_of(uint16_t code) {
  const int exponent = code >> 11;
  const int64_t mantissa = code & 2047;
  const int64_t microseconds = exponent == 0 ? mantissa : (2048 + mantissa) << (exponent - 1);
  return std::chrono::microseconds(microseconds);
}

// Writes the times into the header of a reply's first frame.
constexpr void set_served(FrameHeader& first, const ServedTimes& times) {
  first.replies = time_code(times.total);
  const int64_t total = std::max<int64_t>(times.total.count(), 1);
  const int64_t eighths = (times.waited.count() * 8 + total / 2) / total;
  first.flags |= static_cast<uint8_t>(std::clamp<int64_t>(eighths, 0, 7) << kWaitedShift);
}

// Returns the times in the header of a reply's first frame; nullopt if they are not known. Accepts
// any header.
constexpr std::optional<ServedTimes> served_in(const FrameHeader& first) {
  if (first.replies == 0) return std::nullopt;
  const std::chrono::nanoseconds total = time_of(first.replies);
  const int eighths = (first.flags & kWaitedMask) >> kWaitedShift;
  return ServedTimes{total, total / 8 * eighths};
}

}  // namespace hat::engine
