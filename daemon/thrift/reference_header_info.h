// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/reference_header_info.h: finds the client's time-out in a whole THeader unit; for
// tests, which compare the result with that of MessageReader.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/thrift/header_info.h"
#include "daemon/thrift/theader.h"

namespace hat::thrift {

class ReferenceHeaderInfo {
 public:
  // Reads the header of `unit`, which has at least all bytes before the message.
  ReferenceHeaderInfo(std::string_view unit, Framing framing)
      : words_(header_words(unit.substr(length_bytes(framing)))) {
    const auto protocol = varint(), transforms = varint();
    if (protocol && transforms) read_blocks();
  }

  // Returns the same as HeaderInfo::client_timeout_ms().
  uint32_t client_timeout_ms() const {
    const auto found = pairs_.find(std::string(kClientTimeoutKey));
    if (found == pairs_.end()) return 0;
    const std::string& value = found->second;
    if (value.empty() || value.size() > kClientTimeoutDigitsMax ||
        value.find_first_not_of("0123456789") != std::string::npos) {
      return 0;
    }
    const unsigned long ms = std::stoul(value);
    return ms > kClientTimeoutMsMax ? 0 : static_cast<uint32_t>(ms);
  }

 private:
  static std::string_view header_words(std::string_view header) {
    const auto* fixed = reinterpret_cast<const uint8_t*>(header.data());
    return header.substr(kHeaderFixedBytes, 4 * size_t{big_endian16(fixed + kHeaderWordsAt)});
  }

  // Reads blocks of pairs until other bytes come.
  void read_blocks() {
    while (varint() == 1u) {
      const auto count = varint();
      if (!count) return;
      for (uint32_t left = *count; left > 0; --left) {
        const auto key = text();
        if (!key) return;
        const auto value = text();
        if (!value) return;
        pairs_[*key] = *value;
      }
    }
  }
  std::optional<uint32_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && !words_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(words_.front());
      words_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return static_cast<uint32_t>(value);
    }
    return std::nullopt;
  }
  std::optional<std::string> text() {
    const auto bytes = varint();
    if (!bytes || *bytes > words_.size()) {
      words_ = {};
      return std::nullopt;
    }
    std::string result(words_.substr(0, *bytes));
    words_.remove_prefix(*bytes);
    return result;
  }

  std::string_view words_;  // the unread header words
  std::map<std::string, std::string> pairs_;
};

}  // namespace hat::thrift
