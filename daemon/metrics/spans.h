// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/spans.h: the spans of calls whose clients have sent a trace context that says
// `sampled`: makes their ids, and keeps the ended ones for the thread that writes them to a file.
//
// A span is a call as one daemon has seen it. Its parent is the span that the caller has named.
//
// Bounds   At most kSpansPerSecondMax calls of a second get a span: clients and peers choose which
//          calls are sampled, and each span is a line in a file. Further calls count as dropped,
//          and their requests stay unchanged.
// Memory   A queue of kSpansMax spans for each worker, about 300 bytes each. If the queue is full,
//          a span is dropped and counted.
// Cost     record() copies the span; it takes no lock, and allocates memory only for the name of a
//          peer that is longer than 15 bytes.
// Thread   The worker calls begin() and record(), and one other thread pop().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

#include "base/counter.h"
#include "base/handoff_queue.h"
#include "base/reactor.h"
#include "daemon/metrics/call_record.h"
#include "daemon/metrics/rate_limit.h"
#include "daemon/thrift/trace_context.h"

namespace hat {

// The part of a call in its trace.
struct CallTrace {
  bool is_recorded = false;  // the call gets a span; otherwise the other members have no meaning
  thrift::TraceContext context;  // as the caller has sent it
  thrift::SpanId span_id{};      // of this daemon's span
  // The offset, in the bytes of the request, of the digits of the caller's span id, in whose place
  // this daemon sends its own; 0 if they must stay.
  uint32_t parent_id_at = 0;
};

// The values are those of OTLP.
enum class SpanKind : uint8_t { kServer = 2, kClient = 3 };

struct Span {
  CallTrace trace;
  SpanKind kind = SpanKind::kClient;
  CallRecord call;
};

class Spans {
 public:
  static constexpr size_t kSpansMax = 1024;
  static constexpr uint32_t kSpansPerSecondMax = 1000;

  // Creates an object without spans. `seed` determines the ids of the spans.
  explicit Spans(uint64_t seed) : ids_(seed) {}

  // Returns the trace of a call that has begun at `now`, a time that never decreases. `text_at` is
  // the offset of the text of `context` in the bytes of the request.
  CallTrace begin(const thrift::TraceContext& context, uint32_t text_at, TimePoint now);
  // Adds the span of a call that has ended. `trace` is from begin().
  void record(const CallTrace& trace, SpanKind kind, const CallRecord& call);

  // Returns the oldest span that was recorded, and removes it; nullopt if there is none.
  std::optional<Span> pop() { return ended_.pop(); }

  // Returns how many spans were dropped because the queue was full, or too many calls of a second
  // were sampled. Any thread may call this.
  uint64_t dropped() const { return dropped_.value(); }

 private:
  thrift::SpanId new_id();

  std::mt19937_64 ids_;
  HandoffQueue<Span> ended_{kSpansMax};
  Counter dropped_;
  RateLimit begun_{kSpansPerSecondMax};
};

}  // namespace hat
