// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/served_trace.h: the spans of calls that a peer's clients make.
//
// The parent of such a span is the one that the request names: that of the client's daemon if it
// has made one. The request's bytes are not changed here, so the server sees the same parent.
//
// Thread   the worker's.
#pragma once

#include "base/reactor.h"
#include "daemon/metrics/spans.h"
#include "daemon/proxy/unit_reader.h"

namespace hat {

struct ServedCall;

// Returns the trace of a call that has arrived at `now`. `start` is the first piece of its
// request; a trace context that does not end in it is not found.
CallTrace begin_served_trace(Spans& spans, Bytes start, TimePoint now);

// Records the span of a call that has ended at `now`, if it has one.
void end_served_trace(Spans* spans, const ServedCall& call, CallOutcome outcome, TimePoint now);

}  // namespace hat
