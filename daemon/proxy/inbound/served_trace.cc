// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/served_trace.h"

#include "daemon/proxy/inbound/served_calls.h"
#include "daemon/thrift/message_reader.h"
#include "daemon/thrift/theader.h"

namespace hat {

CallTrace begin_served_trace(Spans& spans, Bytes start, TimePoint now) {
  if (!thrift::may_have_header(start)) return {};
  thrift::MessageReader reader;
  if (reader.next(start).event != thrift::MessageReader::Event::kHead) return {};
  const thrift::Head& head = reader.head();
  return head.trace == nullptr ? CallTrace() : spans.begin(*head.trace, head.trace_at, now);
}

void end_served_trace(Spans* spans, const ServedCall& call, CallOutcome outcome, TimePoint now) {
  if (!call.trace.is_recorded || spans == nullptr) return;
  const TimePoint handed_over = call.is_handed_over() ? call.handed_over : now;
  CallRecord ended{.counters = call.counters,
                   .began = call.started,
                   .took = now - call.started,
                   .waited = handed_over - call.started,
                   .outcome = outcome,
                   .request_bytes = call.request_bytes,
                   .reply_bytes = call.response_bytes};
  if (const auto times = call.times()) ended.answered = times->total - times->waited;
  spans->record(call.trace, SpanKind::kServer, ended);
}

}  // namespace hat
