// SPDX-License-Identifier: Apache-2.0
// daemon/process/span_json.h: writes spans as the lines that the OpenTelemetry collector reads.
//
// Each line is a JSON object TracesData of OTLP with one span. The names and attributes follow
// OpenTelemetry's semantic conventions for RPC; docs/tracing.md lists them.
#pragma once

#include <chrono>
#include <string>

#include "daemon/metrics/spans.h"

namespace hat {

class SpanJson {
 public:
  // Creates the writer. `node` is the name of the node whose daemon has made the spans.
  explicit SpanJson(std::string node) : node_(std::move(node)) {}

  // Appends the line of `span`, with its '\n', to `text`. `unix_epoch` is the time of 1970 on the
  // clock of the span's times.
  void append(std::string& text, const Span& span, TimePoint unix_epoch) const;

 private:
  const std::string node_;
};

}  // namespace hat
