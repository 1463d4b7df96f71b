// SPDX-License-Identifier: Apache-2.0
#include "daemon/thrift/trace_context.h"

namespace hat::thrift {
namespace {

constexpr uint32_t kTraceIdAt = 3;
constexpr uint32_t kFlagsAt = 53;
constexpr std::string_view kVersion = "00";
constexpr std::string_view kInvalidVersion = "ff";

constexpr bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
constexpr int value_of(char hex) { return hex <= '9' ? hex - '0' : hex - 'a' + 10; }

}  // namespace

void TraceparentParser::begin(uint32_t bytes) {
  bytes_ = bytes;
  at_ = 0;
  is_valid_ = bytes >= kTraceparentBytes;
  has_trace_id_ = has_parent_id_ = false;
}

void TraceparentParser::add(std::string_view text) {
  for (const char next : text) {
    if (!is_valid_ || at_ > kTraceparentBytes) return;
    is_valid_ = take(next);
    ++at_;
  }
}

// Takes the byte at the offset at_. Returns false if a text with this byte is not valid.
bool TraceparentParser::take(char next) {
  constexpr uint32_t kTraceIdEnd = kTraceIdAt + sizeof(TraceId);
  constexpr uint32_t kParentIdEnd = kParentIdAt + sizeof(SpanId);
  const bool is_dash = at_ == version_.size() || at_ == kTraceIdEnd || at_ == kParentIdEnd ||
                       at_ == kTraceparentBytes;
  if (is_dash) {
    if (next != '-') return false;
    if (at_ != version_.size()) return true;
    const std::string_view version(version_.data(), version_.size());
    context_.is_known = version == kVersion;
    return version != kInvalidVersion && (!context_.is_known || bytes_ == kTraceparentBytes);
  }
  if (!is_hex(next)) return false;
  if (at_ < version_.size()) {
    version_[at_] = next;
  } else if (at_ < kTraceIdEnd) {
    context_.trace_id[at_ - kTraceIdAt] = next;
    has_trace_id_ |= next != '0';
  } else if (at_ < kParentIdEnd) {
    context_.parent_id[at_ - kParentIdAt] = next;
    has_parent_id_ |= next != '0';
  } else if (at_ > kFlagsAt) {
    context_.is_sampled = (value_of(next) & 1) != 0;
  }
  return true;
}

}  // namespace hat::thrift
