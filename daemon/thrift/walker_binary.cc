// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/walker_binary.cc: reads the tokens that determine a struct's end, and skips all
// other values.
#include "daemon/thrift/walker_binary.h"

namespace hat::thrift {
namespace {

// Thrift's TType, with its values on the wire.
enum : uint8_t {
  kStop = 0,
  kBool = 2,
  kByte = 3,
  kDouble = 4,
  kI16 = 6,
  kI32 = 8,
  kI64 = 10,
  kString = 11,
  kStruct = 12,
  kMap = 13,
  kSet = 14,
  kList = 15,
  kUuid = 16,
  kTypes = 17,
};

// The size in bytes of a value, indexed by TType; 0 if the type is invalid or its values have
// different sizes.
constexpr std::array<uint8_t, kTypes> kFixedBytes = [] {
  std::array<uint8_t, kTypes> bytes{};
  bytes[kBool] = bytes[kByte] = 1;
  bytes[kI16] = 2;
  bytes[kI32] = 4;
  bytes[kI64] = bytes[kDouble] = 8;
  bytes[kUuid] = 16;
  return bytes;
}();

constexpr bool is_type(uint8_t type) {
  return type < kTypes && (kFixedBytes[type] > 0 || (type >= kString && type <= kList));
}

}  // namespace

void BinaryWalker::reset() {
  skip_.clear();
  token_.clear();
  nesting_.reset();
  nesting_.enter_struct();
  value_type_ = 0;
  fields_seen_ = false;
  first_field_.reset();
}

Progress BinaryWalker::walk(Cursor& cursor) {
  Cursor in{cursor.at, cursor.end};  // a local copy, which the compiler can keep in registers
  Progress progress = Progress::kDone;
  while (progress == Progress::kDone) {
    if (!skip_.finish(in)) {
      progress = Progress::kNeedMore;
      break;
    }
    uint8_t type = value_type_;
    if (type == 0) {
      if (nesting_.empty()) break;
      progress = next_value(in, type);
      if (progress != Progress::kDone || type == 0) continue;
    }
    progress = begin_value(in, type);
    value_type_ = progress == Progress::kNeedMore ? type : 0;
  }
  cursor.at = in.at;
  return progress;
}

inline Progress BinaryWalker::next_value(Cursor& in, uint8_t& type) {
  Level& level = nesting_.top();
  if (level.types[0] != kStructLevel) {
    if (level.left == 0) {
      nesting_.leave();
      return Progress::kDone;
    }
    type = level.next_type();
    --level.left;
    return Progress::kDone;
  }
  if (!token_.begun()) {
    if (in.left() == 0) return Progress::kNeedMore;
    if (*in.at == kStop) {
      ++in.at;
      nesting_.leave();
      return Progress::kDone;
    }
  }
  const uint8_t* field = token_.take(in, 3);  // u8 type, i16 id
  if (field == nullptr) return Progress::kNeedMore;
  type = field[0];
  if (!is_type(type)) return Progress::kBroken;
  if (!fields_seen_) {
    fields_seen_ = true;
    first_field_ = static_cast<int16_t>(big_endian16(field + 1));
  }
  return Progress::kDone;
}

inline Progress BinaryWalker::begin_value(Cursor& in, uint8_t type) {
  if (const uint8_t bytes = kFixedBytes[type]; bytes > 0) {
    skip_.begin(in, bytes);
    return Progress::kDone;
  }
  switch (type) {
    case kString: {
      const uint8_t* length = token_.take(in, 4);
      if (length == nullptr) return Progress::kNeedMore;
      const uint32_t bytes = big_endian32(length);
      if (bytes > kCountMax) return Progress::kBroken;
      skip_.begin(in, bytes);
      return Progress::kDone;
    }
    case kStruct:
      if (nesting_.full()) return Progress::kBroken;
      nesting_.enter_struct();
      return Progress::kDone;
    case kMap:
      return begin_map(in);
    default:
      return begin_list(in);  // kSet or kList: is_type() accepts no other type
  }
}

Progress BinaryWalker::begin_list(Cursor& in) {
  const uint8_t* header = token_.take(in, 5);  // u8 type, i32 count
  if (header == nullptr) return Progress::kNeedMore;
  const uint8_t type = header[0];
  const uint32_t count = big_endian32(header + 1);
  if (count > kCountMax) return Progress::kBroken;
  // Does not check the type of an empty list or set, because some writers omit it.
  if (count == 0) return Progress::kDone;
  if (!is_type(type)) return Progress::kBroken;
  if (kFixedBytes[type] > 0) {
    skip_.begin(in, uint64_t{count} * kFixedBytes[type]);
    return Progress::kDone;
  }
  if (nesting_.full()) return Progress::kBroken;
  nesting_.enter({.left = count, .types = {type, type}});
  return Progress::kDone;
}

Progress BinaryWalker::begin_map(Cursor& in) {
  const uint8_t* header = token_.take(in, 6);  // u8 key type, u8 value type, i32 count
  if (header == nullptr) return Progress::kNeedMore;
  const uint8_t key = header[0], value = header[1];
  const uint32_t count = big_endian32(header + 2);
  if (count > kCountMax) return Progress::kBroken;
  if (count == 0) return Progress::kDone;
  if (!is_type(key) || !is_type(value)) return Progress::kBroken;
  if (kFixedBytes[key] > 0 && kFixedBytes[value] > 0) {
    skip_.begin(in, uint64_t{count} * (kFixedBytes[key] + kFixedBytes[value]));
    return Progress::kDone;
  }
  if (nesting_.full()) return Progress::kBroken;
  nesting_.enter({.left = 2 * count, .types = {key, value}});
  return Progress::kDone;
}

}  // namespace hat::thrift
