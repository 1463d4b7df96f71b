// SPDX-License-Identifier: Apache-2.0
// daemon/process/access_log_file.h: the access log of the node: the queues of its workers, and the
// thread that writes their records to the file as lines of JSON (docs/access-log.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/node.h"
#include "daemon/metrics/access_log.h"
#include "daemon/process/line_file.h"

namespace hat {

// Returns the line of a call, with its '\n'. `to_system_time` is the difference between the clock
// of the calls and the time since 1970.
std::string access_line(const LoggedCall& logged, size_t worker, Duration to_system_time);

// Thread   Only the main thread uses this class.
class AccessLogFile {
 public:
  // Has no file before set(). `seed` decides which calls are sampled.
  AccessLogFile(size_t workers, uint32_t seed);

  // Returns the part of a worker. Lives as long as this object.
  AccessLog& of_worker(size_t i) { return *logs_.at(i); }
  // Applies the path of `config`. Call it before the workers get `config`; if the path is empty,
  // after all have got it. Waits for the file of another path for up to LineFile::kStopTime. If a
  // worker adds records after the path became empty, they are lost when there is a path again.
  void set(const AccessLogConfig& config);
  AccessLogCounts counts() const;

 private:
  // Removes the records that wait in the queues, and counts them as lost.
  void lose_waiting();
  // Ends the thread of file_, if there is one.
  void close(bool writes_waiting);

  std::vector<std::unique_ptr<AccessLog>> logs_;
  LineFile::Counts earlier_;        // of files that were closed
  std::string path_;                // of file_
  std::unique_ptr<LineFile> file_;  // reads logs_; null: the node has no access log
};

}  // namespace hat
