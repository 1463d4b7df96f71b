// SPDX-License-Identifier: Apache-2.0
// base/quantities.h: formats numbers for people, with three digits and a unit.
#pragma once

#include <cstdint>
#include <string>

namespace hat {

std::string count_text(double count);        // "0", "0.25", "87.5", "1234", "184k", "1.2M"
std::string size_text(double bytes);         // "0 B", "87 B", "1.5 KiB", "16 MiB"
std::string time_text(double microseconds);  // "86 µs", "1.25 ms", "8.4 s"
std::string age_text(double seconds);        // "12 s", "3 min 12 s", "5 h 2 min", "3 d 4 h"
std::string plural(uint64_t count, const std::string& word);  // "1 change", "2 changes"

}  // namespace hat
