// SPDX-License-Identifier: Apache-2.0
#include "daemon/thrift/header_info.h"

#include <algorithm>
#include <utility>

namespace hat::thrift {
namespace {

constexpr uint32_t kBlockOfPairs = 1;  // INFO_KEYVALUE

// Returns true if the texts are equal in any case of their letters. `lower` has only lower-case
// letters.
bool equals_in_any_case(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower,
                            [](char one, char other) { return (one | 0x20) == other; });
}

}  // namespace

void HeaderInfo::begin() {
  varint_.clear();
  client_timeout_ms_ = 0;
  trace_at_ = 0;
  has_trace_key_ = false;
  at_ = 0;
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
  const uint8_t* const before = words.at;
  const Progress progress = varint_.take(words, number);
  at_ += static_cast<uint32_t>(words.at - before);
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
      key_ = number == kClientTimeoutKey.size() ? Key::kClientTimeout
             : number == kTraceparentKey.size() ? Key::kTraceparent
                                                : Key::kOther;
      awaited_ = Awaited::kKey;
      break;
    default:  // kValueLength
      left_ = number;
      value_at_ = at_;
      if (key_ == Key::kTraceparent) traceparent_.begin(number);
      number_ = 0;
      is_number_ = number > 0 && number <= kClientTimeoutDigitsMax;
      awaited_ = Awaited::kValue;
  }
}

bool HeaderInfo::read_string(Cursor& words) {
  const size_t bytes = std::min<size_t>(left_, words.left());
  const std::string_view part(reinterpret_cast<const char*>(words.at), bytes);
  if (awaited_ == Awaited::kKey) {
    compare_key(part);
  } else if (key_ == Key::kTraceparent) {
    traceparent_.add(part);
  } else if (key_ == Key::kClientTimeout && is_number_) {
    add_digits(words.at, bytes);
  }
  words.at += bytes;
  at_ += static_cast<uint32_t>(bytes);
  left_ -= static_cast<uint32_t>(bytes);
  if (left_ > 0) return false;
  if (awaited_ == Awaited::kKey) {
    awaited_ = Awaited::kValueLength;
  } else {
    end_value();
  }
  return true;
}

// Compares the next bytes of the key with the key that has its length.
void HeaderInfo::compare_key(std::string_view part) {
  if (key_ == Key::kClientTimeout) {
    const size_t from = kClientTimeoutKey.size() - left_;
    if (part != kClientTimeoutKey.substr(from, part.size())) key_ = Key::kOther;
  } else if (key_ == Key::kTraceparent) {
    const size_t from = kTraceparentKey.size() - left_;
    if (!equals_in_any_case(part, kTraceparentKey.substr(from, part.size()))) key_ = Key::kOther;
  }
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
  if (key_ == Key::kClientTimeout) {
    client_timeout_ms_ = is_number_ && number_ <= kClientTimeoutMsMax ? number_ : 0;
  } else if (key_ == Key::kTraceparent) {
    // It is not known which of several values the server uses, so none of them counts.
    const bool is_only = !std::exchange(has_trace_key_, true);
    trace_at_ = is_only && traceparent_.is_valid() ? value_at_ : 0;
    trace_ = traceparent_.context();
  }
  awaited_ = --pairs_left_ == 0 ? Awaited::kBlock : Awaited::kKeyLength;
}

}  // namespace hat::thrift
