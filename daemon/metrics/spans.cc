// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/spans.h"

#include <string_view>

namespace hat {

// A random number has the digits of an id. An id of zeros is not valid.
thrift::SpanId Spans::new_id() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  uint64_t number = 0;
  while (number == 0) number = ids_();
  thrift::SpanId id{};
  for (char& digit : id) {
    digit = kDigits[number & 15];
    number >>= 4;
  }
  return id;
}

CallTrace Spans::begin(const thrift::TraceContext& context, uint32_t text_at, TimePoint now) {
  if (!context.is_sampled) return {};
  if (!begun_.permits(now)) {
    dropped_.add();
    return {};
  }
  return {.is_recorded = true,
          .context = context,
          .span_id = new_id(),
          .parent_id_at = context.is_known ? text_at + thrift::kParentIdAt : 0};
}

void Spans::record(const CallTrace& trace, SpanKind kind, const CallRecord& call) {
  if (!ended_.push({trace, kind, call})) dropped_.add();
}

}  // namespace hat
