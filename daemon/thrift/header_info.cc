// SPDX-License-Identifier: Apache-2.0
#include "daemon/thrift/header_info.h"

#include <algorithm>
#include <cstring>

namespace hat::thrift {
namespace {

constexpr uint32_t kBlockOfPairs = 1;  // INFO_KEYVALUE

}  // namespace

void HeaderInfo::begin() {
  varint_.clear();
  client_timeout_ms_ = 0;
  awaited_ = Awaited::kBlock;
}

void HeaderInfo::read(Cursor words) {
  while (awaited_ != Awaited::kNothing && step(words)) {
  }
}

// Reads one number or string. Returns false if `words` ends before it does.
bool HeaderInfo::step(Cursor& words) {
  if (awaited_ == Awaited::kKey || awaited_ == Awaited::kValue) return read_string(words);
  uint64_t number = 0;
  const Progress progress = varint_.take(words, number);
  if (progress == Progress::kBroken) awaited_ = Awaited::kNothing;
  if (progress != Progress::kDone) return false;
  take_number(static_cast<uint32_t>(number));
  return true;
}

void HeaderInfo::take_number(uint32_t number) {
  switch (awaited_) {
    case Awaited::kBlock:  // 0 is the padding at the end of the header words
      awaited_ = number == kBlockOfPairs ? Awaited::kCount : Awaited::kNothing;
      break;
    case Awaited::kCount:
      pairs_left_ = number;
      awaited_ = number == 0 ? Awaited::kBlock : Awaited::kKeyLength;
      break;
    case Awaited::kKeyLength:
      left_ = number;
      is_timeout_ = number == kClientTimeoutKey.size();
      awaited_ = Awaited::kKey;
      break;
    default:  // kValueLength
      left_ = number;
      number_ = 0;
      is_number_ = number > 0 && number <= kClientTimeoutDigitsMax;
      awaited_ = Awaited::kValue;
  }
}

bool HeaderInfo::read_string(Cursor& words) {
  const size_t bytes = std::min<size_t>(left_, words.left());
  if (is_timeout_ && awaited_ == Awaited::kKey) {
    const char* const expected = kClientTimeoutKey.end() - left_;
    is_timeout_ = bytes == 0 || std::memcmp(words.at, expected, bytes) == 0;
  } else if (is_timeout_ && is_number_) {
    add_digits(words.at, bytes);
  }
  words.at += bytes;
  left_ -= static_cast<uint32_t>(bytes);
  if (left_ > 0) return false;
  if (awaited_ == Awaited::kKey) {
    awaited_ = Awaited::kValueLength;
  } else {
    end_value();
  }
  return true;
}

void HeaderInfo::add_digits(const uint8_t* digits, size_t count) {
  for (const uint8_t* digit = digits; digit != digits + count; ++digit) {
    if (*digit < '0' || *digit > '9') {
      is_number_ = false;
      return;
    }
    number_ = 10 * number_ + (*digit - '0');
  }
}

void HeaderInfo::end_value() {
  if (is_timeout_) {
    client_timeout_ms_ = is_number_ && number_ <= kClientTimeoutMsMax ? number_ : 0;
  }
  awaited_ = --pairs_left_ == 0 ? Awaited::kBlock : Awaited::kKeyLength;
}

}  // namespace hat::thrift
