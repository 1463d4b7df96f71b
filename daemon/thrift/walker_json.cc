// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/walker_json.cc: finds the end of a JSON message: counts brackets and skips strings.
#include "daemon/thrift/walker_json.h"

#include <bit>

namespace hat::thrift {
namespace {

enum Class : uint8_t { kPlain, kOpen, kClose, kQuote, kForeign };

// The class of each byte outside of strings, where kForeign bytes are not allowed.
constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> classes{};
  for (size_t byte = 0; byte < 256; ++byte) {
    classes[byte] = byte >= 0x20 && byte < 0x7f ? kPlain : kForeign;
  }
  classes['\t'] = classes['\n'] = classes['\r'] = kPlain;
  classes['['] = classes['{'] = kOpen;
  classes[']'] = classes['}'] = kClose;
  classes['"'] = kQuote;
  return classes;
}();

// Compares eight bytes at once. Returns a word in which the high bit of each byte is set if that
// byte of `word` equals `byte`. Only the lowest set bit is reliable.
constexpr uint64_t equal_bytes(uint64_t word, uint8_t byte) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t zero_where_equal = word ^ (kOnes * byte);
  return (zero_where_equal - kOnes) & ~zero_where_equal & (kOnes << 7);
}

}  // namespace

void JsonWalker::reset() {
  state_ = State::kStruct;
  brackets_ = 1;
  key_ = 0;
  first_field_.reset();
}

Progress JsonWalker::walk(Cursor& cursor) {
  Cursor in{cursor.at, cursor.end};
  Progress progress = Progress::kNeedMore;
  while (progress == Progress::kNeedMore && in.left() > 0) progress = step(in);
  cursor.at = in.at;
  return progress;
}

// Reads one part. Returns kNeedMore if the message's end was not found; walk() then calls step()
// again as long as input is left.
Progress JsonWalker::step(Cursor& in) {
  switch (state_) {
    case State::kStruct:
      if (*in.at++ != '{') return Progress::kBroken;
      ++brackets_;
      state_ = State::kFirstKey;
      return Progress::kNeedMore;
    case State::kFirstKey:
    case State::kInFirstKey:
      return first_key_byte(*in.at++);
    case State::kValues:
      return walk_values(in);
    case State::kString:
      walk_string(in);
      return Progress::kNeedMore;
    case State::kEscape:
      ++in.at;
      state_ = State::kString;
      return Progress::kNeedMore;
    case State::kEnd:
      return *in.at++ == ']' ? Progress::kDone : Progress::kBroken;
  }
  return Progress::kBroken;
}

Progress JsonWalker::first_key_byte(uint8_t byte) {
  if (state_ == State::kFirstKey) {
    if (byte == '}') {
      state_ = State::kEnd;
    } else if (byte == '"') {
      state_ = State::kInFirstKey;
    } else {
      return Progress::kBroken;
    }
  } else if (byte == '"') {
    first_field_ = key_;
    state_ = State::kValues;
  } else if (byte >= '0' && byte <= '9' && key_ >= 0 && key_ <= INT16_MAX) {
    key_ = 10 * key_ + (byte - '0');
  } else {
    key_ = -1;
    if (byte == '\\') return Progress::kBroken;  // no writer escapes a field id
  }
  return Progress::kNeedMore;
}

Progress JsonWalker::walk_values(Cursor& in) {
  const uint8_t* at = in.at;
  Progress progress = Progress::kNeedMore;
  while (at != in.end && progress == Progress::kNeedMore && state_ == State::kValues) {
    switch (kClasses[*at++]) {
      case kPlain:
        break;
      case kQuote:
        state_ = State::kString;
        break;
      case kOpen:
        if (++brackets_ > kJsonBracketsMax) progress = Progress::kBroken;
        break;
      case kClose:
        if (--brackets_ == 1) state_ = State::kEnd;
        break;
      default:
        progress = Progress::kBroken;
    }
  }
  in.at = at;
  return progress;
}

// Skips to the end of the string or to an escape. Reads eight bytes at a time, because values of
// type binary can be long.
void JsonWalker::walk_string(Cursor& in) {
  while (in.left() >= 8) {
    uint64_t word;
    std::memcpy(&word, in.at, 8);
    if constexpr (std::endian::native == std::endian::big) word = std::byteswap(word);
    const uint64_t found = equal_bytes(word, '"') | equal_bytes(word, '\\');
    if (found == 0) {
      in.at += 8;
      continue;
    }
    in.at += std::countr_zero(found) / 8;
    break;
  }
  while (in.left() > 0) {
    const uint8_t byte = *in.at++;
    if (byte == '"' || byte == '\\') {
      state_ = byte == '"' ? State::kValues : State::kEscape;
      return;
    }
  }
}

}  // namespace hat::thrift
