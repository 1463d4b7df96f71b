// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/trace_context.h: the trace context that a client sends with a call, and a parser
// for its text, which can arrive in pieces.
//
// The text has the format of the W3C's header `traceparent`, in lower-case hexadecimal digits:
//
//   00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
//   version, id of the trace, id of the caller's span (the parent), flags
//
// The parser accepts version 00 only with exactly these 55 bytes. It accepts a later version if its
// text begins with the same four fields, and ends there or continues with '-', as the W3C requires.
// It accepts neither version ff, nor ids of zeros, nor other digits.
//
// Source   W3C Recommendation "Trace Context", section 3.2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hat::thrift {

// The ids as lower-case hexadecimal digits.
using TraceId = std::array<char, 32>;
using SpanId = std::array<char, 16>;

struct TraceContext {
  TraceId trace_id{};
  SpanId parent_id{};
  bool is_sampled = false;  // the caller records its spans of this trace
  bool is_known = false;    // of version 00, whose parent id another participant may replace

  bool operator==(const TraceContext&) const = default;
};

// The offset of the parent id in the text, and the size of version 00.
inline constexpr uint32_t kParentIdAt = 36;
inline constexpr uint32_t kTraceparentBytes = 55;

class TraceparentParser {
 public:
  // Prepares for a text of `bytes` bytes.
  void begin(uint32_t bytes);
  // Continues with the next bytes of the text.
  void add(std::string_view text);
  // Returns true if the text, which has ended, is valid. context() is then set.
  bool is_valid() const { return is_valid_ && has_trace_id_ && has_parent_id_; }
  const TraceContext& context() const { return context_; }

 private:
  bool take(char next);

  TraceContext context_;
  std::array<char, 2> version_{};
  uint32_t bytes_ = 0;  // of the whole text
  uint32_t at_ = 0;     // the bytes so far, up to kTraceparentBytes + 1
  bool is_valid_ = false;
  bool has_trace_id_ = false;   // a digit is not 0
  bool has_parent_id_ = false;  // a digit is not 0
};

}  // namespace hat::thrift
