// SPDX-License-Identifier: Apache-2.0
// base/quantities.h: formats numbers for people, with a unit. The numbers have three digits, unless
// the comment of a function says otherwise.
#pragma once

#include <cstdint>
#include <string>

namespace hat {

std::string count_text(double count);   // "0", "0.25", "87.5", "1234", "184k", "1.2M"
std::string size_text(uint64_t bytes);  // "0 B", "87 B", "1.5 KiB", "16 MiB"
// Returns a size with all its digits, in the largest unit that divides it: "87B", "5000B", "4KiB",
// "1MiB". Hints and configuration files spell sizes like this, without a space, so a person can
// copy the text into a file. size_text() rounds.
std::string exact_size_text(uint64_t bytes);
std::string time_text(double microseconds);  // "86 µs", "1.25 ms", "8.4 s"
std::string nanoseconds_text(double ns);     // "412 ns", and from 1 µs on as time_text()
std::string age_text(double seconds);        // "12 s", "3 min 12 s", "5 h 2 min", "3 d 4 h"
std::string plural(uint64_t count, const std::string& word);  // "1 change", "2 changes"

}  // namespace hat
