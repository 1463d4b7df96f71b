// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/record.h: builds keys like YCSB, and values in the layout of the HatKV binding.
//
// A value consists of the record's fields, one after the other, of fieldlength bytes each, and of
// nothing else: with YCSB's defaults 10 x 100 bytes, as in HatRPC (SC'21) 5.4.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kv/ycsb/generators.h"
#include "kv/ycsb/workload.h"

namespace hat::ycsb {

// Returns "user" and the record's number or its hash, padded with leading zeros to zeropadding
// digits. Hashes have at most 19 digits, so zeropadding=20 makes all keys 24 bytes long.
std::string key_of(const Workload& workload, int64_t record);

// Returns all fields of a new record: random printable bytes or, with dataintegrity, bytes that are
// derived from the key and the field's name.
std::string make_value(const Workload& workload, std::string_view key, Random& random);

// Replaces the bytes of one random field of a value that has the right length.
void change_field(const Workload& workload, std::string_view key, Random& random,
                  std::string& value);

// Returns whether the value has the right length and, with dataintegrity, the right bytes.
bool is_right(const Workload& workload, std::string_view key, std::string_view value);

}  // namespace hat::ycsb
