// SPDX-License-Identifier: Apache-2.0
// daemon/process/span_log.h: the spans of all workers, and the file to which they are written.
//
// Thread   Only the main thread uses this class. Each worker uses its own Spans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "config/node.h"
#include "daemon/metrics/spans.h"
#include "daemon/process/line_file.h"

namespace hat {

class SpanLog {
 public:
  // Writes to the file of the key `tracing`, which the node must have. `seed` determines the ids of
  // the spans.
  SpanLog(const NodeConfig& node, size_t workers, uint64_t seed);

  // Returns the spans of the worker with this index, for as long as this object lives.
  Spans* of_worker(size_t index) { return spans_[index].get(); }
  uint64_t written() const { return file_->counts().written; }
  // Returns how many spans are not in the file: there was no space in memory, or in the file.
  uint64_t lost() const;

 private:
  std::vector<std::unique_ptr<Spans>> spans_;
  std::unique_ptr<LineFile> file_;  // its thread reads `spans_`
};

// Returns the SpanLog of a node with the key `tracing`; null if the node has no such key.
std::unique_ptr<SpanLog> make_span_log(const NodeConfig& node, size_t workers);

}  // namespace hat
