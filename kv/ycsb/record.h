// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/record.h: makes YCSB's keys, and values in the layout of YCSB's binding for HatKV.
//
// A value consists of the record's fields, one after another, each of fieldlength bytes. With
// YCSB's defaults these are 10 x 100 bytes, as in HatRPC (SC'21) 5.4.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kv/ycsb/generators.h"
#include "kv/ycsb/workload.h"

namespace hat::ycsb {

// Returns the key of a record: "user" and the record's number or its hash, with leading zeros up to
// zeropadding digits. Hashes have at most 19 digits, so zeropadding=20 gives keys of 24 bytes.
std::string key_of(const Workload& workload, int64_t record);

// Returns a value with all fields of a new record: random printable bytes or, with dataintegrity,
// bytes that follow from the key and the field's name.
std::string make_value(const Workload& workload, std::string_view key, Random& random);

// Replaces the bytes of one random field of `value`, which must have the right length.
void change_field(const Workload& workload, std::string_view key, Random& random,
                  std::string& value);

// Returns true if the value has the right length and, with dataintegrity, the right bytes.
bool is_right(const Workload& workload, std::string_view key, std::string_view value);

}  // namespace hat::ycsb
