#include "daemon/thrift/walker_compact.h"

namespace hat::thrift {
namespace {

// The compact protocol's own types.
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

// An element's bytes; 0: not of a fixed size.
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
  Cursor in = cursor;
  Progress progress = Progress::kDone;
  while (progress == Progress::kDone) {
    if (!skip_.finish(in)) {
      progress = Progress::kNeedMore;
      break;
    }
    if (nesting_.empty() && awaited_ == Awaited::kNextValue) break;
    progress = step(in);
  }
  cursor = in;
  return progress;
}

// Each step leaves awaited_ at kNextValue unless it sets another: what is not finished is asked
// again with the same awaited_.
inline Progress CompactWalker::step(Cursor& in) {
  uint64_t value = 0;
  uint32_t count = 0;
  Progress progress = Progress::kDone;
  switch (awaited_) {
    case Awaited::kNextValue:
      return next_value(in);
    case Awaited::kFieldId:
      progress = varint_.take(in, value);
      if (progress != Progress::kDone) return progress;
      return begin_field(type_, from_zigzag(value));
    case Awaited::kValue:
      return begin_value(in, type_);
    case Awaited::kVarints:
      return skip_varints(in);
    case Awaited::kStringBytes:
      progress = take_count(in, count);
      if (progress != Progress::kDone) return progress;
      awaited_ = Awaited::kNextValue;
      skip_.begin(in, count);
      return Progress::kDone;
    case Awaited::kListCount:
      progress = take_count(in, count);
      if (progress != Progress::kDone) return progress;
      return begin_list(in, count);
    case Awaited::kMapCount:
      progress = take_count(in, map_count_);
      if (progress != Progress::kDone) return progress;
      awaited_ = map_count_ == 0 ? Awaited::kNextValue : Awaited::kMapTypes;
      return Progress::kDone;
    case Awaited::kMapTypes:
      if (in.left() == 0) return Progress::kNeedMore;
      return begin_map(in, *in.at++);
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
  if (header >> 4 == 0) {  // the id follows
    type_ = type;
    awaited_ = Awaited::kFieldId;
    return Progress::kDone;
  }
  return begin_field(type, static_cast<int16_t>(header >> 4));
}

inline Progress CompactWalker::begin_field(uint8_t type, std::optional<int16_t> id) {
  if (!fields_seen_) {
    fields_seen_ = true;
    first_field_ = id;
  }
  // A bool's value is its type.
  awaited_ = type == kTrue || type == kFalse ? Awaited::kNextValue : Awaited::kValue;
  type_ = type;
  return Progress::kDone;
}

// `type` is no bool that is a field.
inline Progress CompactWalker::begin_value(Cursor& in, uint8_t type) {
  awaited_ = Awaited::kNextValue;
  if (is_varint(type)) {
    varints_left_ = 1;
    awaited_ = Awaited::kVarints;
    return skip_varints(in);
  }
  switch (type) {
    case kBinary:
      awaited_ = Awaited::kStringBytes;
      return Progress::kDone;
    case kStruct:
      if (nesting_.full()) return Progress::kBroken;
      nesting_.enter_struct();
      return Progress::kDone;
    case kMap:
      awaited_ = Awaited::kMapCount;
      return Progress::kDone;
    case kList:
    case kSet: {
      if (in.left() == 0) {
        awaited_ = Awaited::kValue;
        type_ = type;
        return Progress::kNeedMore;
      }
      const uint8_t header = *in.at++;
      type_ = header & 0x0f;
      if (header >> 4 < 15) return begin_list(in, header >> 4);
      awaited_ = Awaited::kListCount;
      return Progress::kDone;
    }
    default:
      skip_.begin(in, fixed_bytes(type));
      return Progress::kDone;
  }
}

inline Progress CompactWalker::begin_list(Cursor& in, uint32_t count) {
  awaited_ = Awaited::kNextValue;
  if (count == 0) return Progress::kDone;  // of whatever type
  if (!is_type(type_)) return Progress::kBroken;
  if (const uint8_t bytes = fixed_bytes(type_); bytes > 0) {
    skip_.begin(in, uint64_t{count} * bytes);
    return Progress::kDone;
  }
  if (is_varint(type_)) {
    varints_left_ = count;
    awaited_ = Awaited::kVarints;
    return skip_varints(in);
  }
  if (nesting_.full()) return Progress::kBroken;
  nesting_.enter({.left = count, .types = {type_, type_}});
  return Progress::kDone;
}

inline Progress CompactWalker::begin_map(Cursor& in, uint8_t types) {
  const uint8_t key = types >> 4, value = types & 0x0f;
  if (!is_type(key) || !is_type(value)) return Progress::kBroken;
  awaited_ = Awaited::kNextValue;
  if (fixed_bytes(key) > 0 && fixed_bytes(value) > 0) {
    skip_.begin(in, uint64_t{map_count_} * (fixed_bytes(key) + fixed_bytes(value)));
    return Progress::kDone;
  }
  if (is_varint(key) && is_varint(value)) {
    varints_left_ = 2 * uint64_t{map_count_};
    awaited_ = Awaited::kVarints;
    return skip_varints(in);
  }
  if (nesting_.full()) return Progress::kBroken;
  nesting_.enter({.left = 2 * map_count_, .types = {key, value}});
  return Progress::kDone;
}

inline Progress CompactWalker::skip_varints(Cursor& in) {
  while (in.left() > 0) {
    if (*in.at++ < 0x80) {
      varint_bytes_ = 0;
      if (--varints_left_ == 0) {
        awaited_ = Awaited::kNextValue;
        return Progress::kDone;
      }
    } else if (++varint_bytes_ == Varint::kBytesMax) {
      return Progress::kBroken;
    }
  }
  return Progress::kNeedMore;
}

inline Progress CompactWalker::take_count(Cursor& in, uint32_t& count) {
  uint64_t value = 0;
  const Progress progress = varint_.take(in, value);
  if (progress != Progress::kDone) return progress;
  count = static_cast<uint32_t>(value);
  return count > kCountMax ? Progress::kBroken : Progress::kDone;
}

}  // namespace hat::thrift
