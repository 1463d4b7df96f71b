// SPDX-License-Identifier: Apache-2.0
// daemon/admin/metrics_reader_for_tests.h: a strict reader of Prometheus' text format 0.0.4.
//
// The reader accepts less than Prometheus does: HELP, TYPE and all samples of a metric family must
// follow each other in this order. It rejects repeated series, timestamps and blank lines.
// Source: prometheus.io/docs/instrumenting/exposition_formats, text-based format.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace hat {

struct MetricSample {
  std::string name;
  std::map<std::string, std::string> labels;  // values without the escapes of the text
  double value = 0;
};
struct MetricFamilyText {
  std::string name;
  std::string help;
  std::string type;
  std::vector<MetricSample> samples;
};

// Reads a complete answer of /metrics. An error names the line and says what is wrong.
Result<std::vector<MetricFamilyText>> read_metrics(const std::string& text);

}  // namespace hat
