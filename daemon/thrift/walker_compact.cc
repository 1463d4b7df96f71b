// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/walker_compact.cc: reads the headers and varints that determine a struct's end, and
// skips other values.
#include "daemon/thrift/walker_compact.h"

namespace hat::thrift {
namespace {

// The types of the compact protocol, with their values on the wire.
enum : uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
  kUuid = 13,
  kTypes = 14,
};

constexpr bool is_type(uint8_t type) { return type > kStop && type < kTypes; }
constexpr bool is_varint(uint8_t type) { return type >= kI16 && type <= kI64; }

// Returns the size in bytes of a container's element of `type`; 0 if elements have different sizes.
constexpr uint8_t fixed_bytes(uint8_t type) {
  switch (type) {
    case kTrue:
    case kFalse:
    case kByte:
      return 1;
    case kDouble:
      return 8;
    case kUuid:
      return 16;
    default:
      return 0;
  }
}

constexpr int16_t from_zigzag(uint64_t value) {
  const auto low = static_cast<uint32_t>(value);
  return static_cast<int16_t>((low >> 1) ^ (0u - (low & 1)));
}

}  // namespace

void CompactWalker::reset() {
  skip_.clear();
  varint_.clear();
  nesting_.reset();
  nesting_.enter_struct();
  awaited_ = Awaited::kNextValue;
  varint_bytes_ = 0;
  fields_seen_ = false;
  first_field_.reset();
}

Progress CompactWalker::walk(Cursor& cursor) {
  Cursor in{cursor.at, cursor.end};
  Progress progress = Progress::kDone;
  while (progress == Progress::kDone) {
    if (!skip_.finish(in)) {
      progress = Progress::kNeedMore;
      break;
    }
    if (nesting_.empty() && awaited_ == Awaited::kNextValue) break;
    progress = step(in);
  }
  cursor.at = in.at;
  return progress;
}

// Continues with the part of a value in which the previous piece of input ended. Each part's
// function sets awaited_ to its own part before it needs bytes, and calls the next part's function
// when its part is complete.
inline Progress CompactWalker::step(Cursor& in) {
  switch (awaited_) {
    case Awaited::kNextValue:
      return next_value(in);
    case Awaited::kFieldId:
      return read_field_id(in);
    case Awaited::kVarints:
      return skip_varints(in);
    case Awaited::kStringBytes:
      return read_string(in);
    case Awaited::kListHeader:
      return read_list(in);
    case Awaited::kListCount:
      return read_list_count(in);
    case Awaited::kMapCount:
      return read_map(in);
    case Awaited::kMapTypes:
      return read_map_types(in);
  }
  return Progress::kBroken;
}

inline Progress CompactWalker::next_value(Cursor& in) {
  Level& level = nesting_.top();
  if (level.types[0] != kStructLevel) {
    if (level.left == 0) {
      nesting_.leave();
      return Progress::kDone;
    }
    const uint8_t type = level.next_type();
    --level.left;
    return begin_value(in, type);
  }
  if (in.left() == 0) return Progress::kNeedMore;
  const uint8_t header = *in.at++;
  const uint8_t type = header & 0x0f;
  if (type == kStop) {
    nesting_.leave();
    return Progress::kDone;
  }
  if (!is_type(type)) return Progress::kBroken;
  if (header >> 4 != 0) return begin_field(in, type, static_cast<int16_t>(header >> 4));
  type_ = type;
  return read_field_id(in);
}

Progress CompactWalker::read_field_id(Cursor& in) {
  awaited_ = Awaited::kFieldId;
  uint64_t id = 0;
  const Progress progress = varint_.take(in, id);
  if (progress != Progress::kDone) return progress;
  awaited_ = Awaited::kNextValue;
  return begin_field(in, type_, from_zigzag(id));
}

inline Progress CompactWalker::begin_field(Cursor& in, uint8_t type, int16_t id) {
  if (!fields_seen_) {
    fields_seen_ = true;
    first_field_ = id;
  }
  // The type of a bool field is also its value, so no value bytes follow.
  if (type == kTrue || type == kFalse) return Progress::kDone;
  return begin_value(in, type);
}

// Begins a value of `type`, which is not a bool field.
inline Progress CompactWalker::begin_value(Cursor& in, uint8_t type) {
  switch (type) {
    case kI16:
    case kI32:
    case kI64:
      varints_left_ = 1;
      return skip_varints(in);
    case kBinary:
      return read_string(in);
    case kStruct:
      if (nesting_.full()) return Progress::kBroken;
      nesting_.enter_struct();
      return Progress::kDone;
    case kMap:
      return read_map(in);
    case kList:
    case kSet:
      return read_list(in);
    default:
      skip_.begin(in, fixed_bytes(type));
      return Progress::kDone;
  }
}

inline Progress CompactWalker::read_string(Cursor& in) {
  awaited_ = Awaited::kStringBytes;
  uint32_t bytes = 0;
  const Progress progress = take_count(in, bytes);
  if (progress != Progress::kDone) return progress;
  awaited_ = Awaited::kNextValue;
  skip_.begin(in, bytes);
  return Progress::kDone;
}

Progress CompactWalker::read_list(Cursor& in) {
  awaited_ = Awaited::kListHeader;
  if (in.left() == 0) return Progress::kNeedMore;
  const uint8_t header = *in.at++;
  type_ = header & 0x0f;
  return header >> 4 < 15 ? begin_list(in, header >> 4) : read_list_count(in);
}

Progress CompactWalker::read_list_count(Cursor& in) {
  awaited_ = Awaited::kListCount;
  uint32_t count = 0;
  const Progress progress = take_count(in, count);
  return progress == Progress::kDone ? begin_list(in, count) : progress;
}

Progress CompactWalker::begin_list(Cursor& in, uint32_t count) {
  awaited_ = Awaited::kNextValue;
  if (count == 0) return Progress::kDone;  // the type of an empty list is not checked
  if (!is_type(type_)) return Progress::kBroken;
  if (const uint8_t bytes = fixed_bytes(type_); bytes > 0) {
    skip_.begin(in, uint64_t{count} * bytes);
    return Progress::kDone;
  }
  if (is_varint(type_)) {
    varints_left_ = count;
    return skip_varints(in);
  }
  if (nesting_.full()) return Progress::kBroken;
  nesting_.enter({.left = count, .types = {type_, type_}});
  return Progress::kDone;
}

Progress CompactWalker::read_map(Cursor& in) {
  awaited_ = Awaited::kMapCount;
  const Progress progress = take_count(in, map_count_);
  if (progress != Progress::kDone) return progress;
  if (map_count_ > 0) return read_map_types(in);
  awaited_ = Awaited::kNextValue;
  return Progress::kDone;
}

Progress CompactWalker::read_map_types(Cursor& in) {
  awaited_ = Awaited::kMapTypes;
  if (in.left() == 0) return Progress::kNeedMore;
  const uint8_t types = *in.at++;
  const uint8_t key = types >> 4, value = types & 0x0f;
  if (!is_type(key) || !is_type(value)) return Progress::kBroken;
  awaited_ = Awaited::kNextValue;
  if (fixed_bytes(key) > 0 && fixed_bytes(value) > 0) {
    skip_.begin(in, uint64_t{map_count_} * (fixed_bytes(key) + fixed_bytes(value)));
    return Progress::kDone;
  }
  if (is_varint(key) && is_varint(value)) {
    varints_left_ = 2 * uint64_t{map_count_};
    return skip_varints(in);
  }
  if (nesting_.full()) return Progress::kBroken;
  nesting_.enter({.left = 2 * map_count_, .types = {key, value}});
  return Progress::kDone;
}

inline Progress CompactWalker::skip_varints(Cursor& in) {
  awaited_ = Awaited::kVarints;
  uint64_t left = varints_left_;
  while (left > 0) {
    if (in.left() == 0) {
      varints_left_ = left;
      return Progress::kNeedMore;
    }
    if (*in.at++ < 0x80) {
      --left;
      varint_bytes_ = 0;
    } else if (++varint_bytes_ == Varint::kBytesMax) {
      return Progress::kBroken;
    }
  }
  awaited_ = Awaited::kNextValue;
  return Progress::kDone;
}

inline Progress CompactWalker::take_count(Cursor& in, uint32_t& count) {
  uint64_t value = 0;
  const Progress progress = varint_.take(in, value);
  if (progress != Progress::kDone) return progress;
  count = static_cast<uint32_t>(value);
  return count > kCountMax ? Progress::kBroken : Progress::kDone;
}

}  // namespace hat::thrift
