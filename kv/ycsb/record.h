// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/record.h: keys as YCSB builds them, and values as the HatKV binding lays records out.
//
// A value is a record's fields, one after the other, of fieldlength bytes each: with YCSB's
// defaults 10 x 100 bytes, and nothing beside them, as in HatRPC (SC'21) 5.4.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kv/ycsb/generators.h"
#include "kv/ycsb/workload.h"

namespace hat::ycsb {

// "user" and the record's number, or its hash; with zeros before it where it is too short. Hashes
// have at most 19 digits: zeropadding=20 makes all keys 24 bytes long.
std::string key_of(const Workload& workload, int64_t record);

// All fields, random printable bytes; or, with dataintegrity, what follows from key and field.
std::string make_value(const Workload& workload, std::string_view key, Random& random);

// New bytes for one random field of a value of the right length.
void change_field(const Workload& workload, std::string_view key, Random& random,
                  std::string& value);

// Whether a value is what it must be: its length, and its bytes where dataintegrity says them.
bool is_right(const Workload& workload, std::string_view key, std::string_view value);

}  // namespace hat::ycsb
