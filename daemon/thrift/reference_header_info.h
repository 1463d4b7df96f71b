// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/reference_header_info.h: finds the client's time-out and trace context in a whole
// THeader unit; for tests, which compare the result with that of MessageReader.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "daemon/thrift/header_info.h"
#include "daemon/thrift/theader.h"

namespace hat::thrift {

class ReferenceHeaderInfo {
 public:
  // Reads the header of `unit`, which has at least all bytes before the message.
  ReferenceHeaderInfo(std::string_view unit, Framing framing)
      : unit_(unit), words_(header_words(unit.substr(length_bytes(framing)))) {
    const auto protocol = varint(), transforms = varint();
    if (protocol && transforms) read_blocks();
  }

  // Returns the same as HeaderInfo::client_timeout_ms().
  uint32_t client_timeout_ms() const {
    const auto found = pairs_.find(std::string(kClientTimeoutKey));
    if (found == pairs_.end()) return 0;
    const std::string_view value = found->second;
    if (value.empty() || value.size() > kClientTimeoutDigitsMax ||
        value.find_first_not_of("0123456789") != std::string::npos) {
      return 0;
    }
    const unsigned long ms = std::stoul(std::string(value));
    return ms > kClientTimeoutMsMax ? 0 : static_cast<uint32_t>(ms);
  }

  // Returns the same as Head::trace, and sets `at` to Head::trace_at.
  std::optional<TraceContext> trace(uint32_t& at) const {
    at = 0;
    static const std::regex kFormat("([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})");
    const std::string text(traceparent_);
    std::smatch parts;
    if (trace_keys_ != 1 || text.size() < kTraceparentBytes) return std::nullopt;
    const std::string start = text.substr(0, kTraceparentBytes);
    if (!std::regex_match(start, parts, kFormat) || parts[1] == "ff") return std::nullopt;
    const bool is_known = parts[1] == "00";
    if (text.size() > kTraceparentBytes && (is_known || text[kTraceparentBytes] != '-'))
      return std::nullopt;
    const std::string zeros(32, '0');
    if (parts[2] == zeros || parts[3] == zeros.substr(16)) return std::nullopt;
    at = static_cast<uint32_t>(traceparent_.data() - unit_.data());
    TraceContext context;
    std::ranges::copy(parts[2].str(), context.trace_id.begin());
    std::ranges::copy(parts[3].str(), context.parent_id.begin());
    context.is_sampled = std::stoi(parts[4], nullptr, 16) % 2 == 1;
    context.is_known = is_known;
    return context;
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
        pairs_[std::string(*key)] = *value;
        std::string lower(*key);
        std::ranges::transform(lower, lower.begin(),
                               [](unsigned char c) { return std::tolower(c); });
        if (lower != kTraceparentKey) continue;
        traceparent_ = *value;
        ++trace_keys_;
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
  std::optional<std::string_view> text() {
    const auto bytes = varint();
    if (!bytes || *bytes > words_.size()) {
      words_ = {};
      return std::nullopt;
    }
    const std::string_view result = words_.substr(0, *bytes);
    words_.remove_prefix(*bytes);
    return result;
  }

  std::string_view unit_;
  std::string_view words_;  // the unread header words
  std::map<std::string, std::string_view> pairs_;
  std::string_view traceparent_;  // the last value of this key, in any case of its letters
  int trace_keys_ = 0;            // how often this key has come
};

}  // namespace hat::thrift
