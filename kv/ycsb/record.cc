// SPDX-License-Identifier: Apache-2.0
#include "kv/ycsb/record.h"

#include <cstring>

namespace hat::ycsb {
namespace {

void fill_random(Random& random, char* into, size_t bytes) {
  for (size_t done = 0; done < bytes; done += sizeof(uint64_t)) {
    // Eight bytes from ' ' to '_': each has six random bits, to which 32 is added.
    const uint64_t chunk = (random() & 0x3F3F3F3F3F3F3F3F) + 0x2020202020202020;
    std::memcpy(into + done, &chunk, std::min(sizeof(chunk), bytes - done));
  }
}

// Writes the bytes that YCSB's CoreWorkload.buildDeterministicValue() makes: the text key:field,
// and then, again and again, the hash (Java's String.hashCode()) of the text so far.
void fill_determined(std::string_view key, std::string_view field, char* into, size_t bytes) {
  std::string text(key);
  text.append(":").append(field);
  int32_t hash = 0;
  size_t hashed = 0;
  while (text.size() < bytes) {
    text += ':';
    for (; hashed < text.size(); ++hashed) {
      hash = static_cast<int32_t>(31u * static_cast<uint32_t>(hash) +
                                  static_cast<unsigned char>(text[hashed]));
    }
    text += std::to_string(hash);
  }
  std::memcpy(into, text.data(), bytes);
}

void fill_field(const Workload& workload, std::string_view key, uint64_t field, Random& random,
                char* into) {
  if (workload.data_integrity) {
    const std::string name = workload.field_prefix + std::to_string(field);
    fill_determined(key, name, into, workload.field_bytes);
  } else {
    fill_random(random, into, workload.field_bytes);
  }
}

}  // namespace

std::string key_of(const Workload& workload, int64_t record) {
  const std::string digits = std::to_string(workload.hashed_keys ? fnv_hash(record) : record);
  std::string key = "user";
  if (digits.size() < workload.zero_padding) {
    key.append(workload.zero_padding - digits.size(), '0');
  }
  return key + digits;
}

std::string make_value(const Workload& workload, std::string_view key, Random& random) {
  std::string value(workload.fields * workload.field_bytes, '\0');
  for (uint64_t field = 0; field < workload.fields; ++field) {
    fill_field(workload, key, field, random, value.data() + field * workload.field_bytes);
  }
  return value;
}

void change_field(const Workload& workload, std::string_view key, Random& random,
                  std::string& value) {
  const uint64_t field = random() % workload.fields;
  fill_field(workload, key, field, random, value.data() + field * workload.field_bytes);
}

bool is_right(const Workload& workload, std::string_view key, std::string_view value) {
  if (value.size() != workload.fields * workload.field_bytes) return false;
  if (!workload.data_integrity) return true;
  Random unused;
  return value == make_value(workload, key, unused);
}

}  // namespace hat::ycsb
