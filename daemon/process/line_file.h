// SPDX-License-Identifier: Apache-2.0
// daemon/process/line_file.h: a thread that appends lines to a file, such as a log of calls.
//
// The owner puts records into queues of its own; this thread takes them from there as text, every
// kInterval. A file that blocks (a full pipe, a slow disk) therefore delays only this thread: the
// queues fill, and their owner counts the records for which there is no space.
//
// Rotation  Before each write the thread compares the file with the one at the path. If another
//           program has renamed or removed the file, the thread makes a new one. It writes at the
//           end (O_APPEND), so several processes can write to one regular file; in a pipe, their
//           lines can mix. If the disk becomes full, a line can be cut; the thread ends it before
//           the next one, also if an earlier process has left it.
// Errors    Lines that cannot be written are lost and counted. The thread logs the first error, and
//           when it can write again (daemon/process/write_news.h); it tries to open the file again
//           for the next lines.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/descriptor.h"

namespace hat {

// Opens the file at `path`, as a LineFile does, and makes it if there is none. The descriptor does
// not block. On failure it is not open, and errno has the reason.
Descriptor open_to_append(const std::string& path);

// Has the records, and makes lines of them.
//
// Thread   The thread of the LineFile calls take_lines(), never two threads at once.
class LineSource {
 public:
  virtual ~LineSource() = default;
  // Takes the records that wait, and appends a line with its '\n' to `text` for each, until `text`
  // has `enough` bytes or more. Must not block.
  virtual void take_lines(std::string& text, size_t enough) = 0;
};

// Thread   Only the thread that made the object may use it; any thread may call counts().
class LineFile {
 public:
  static constexpr std::chrono::milliseconds kInterval{50};
  static constexpr std::chrono::seconds kStopTime{2};
  static constexpr size_t kBatchBytes = 256 * 1024;

  struct Counts {
    uint64_t written = 0;  // lines
    uint64_t lost = 0;     // lines that could not be written
    uint64_t taken = 0;    // lines; after stop(), those that are not written are lost
  };

  // Starts the thread. `name` is its name, of at most 15 bytes, and begins its messages.
  LineFile(std::string name, std::unique_ptr<LineSource> source);
  ~LineFile() { stop(); }

  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // Sets the path of the file for the lines from now on. While the path is empty, the thread
  // sleeps, and the records stay in their queues.
  void set_path(std::string path);
  // Writes the records that wait, and ends the thread. If this takes longer than kStopTime, gives
  // up: the other records are lost.
  void stop();
  // As stop(), but leaves the records that wait in their queues.
  void stop_without_waiting_lines();
  Counts counts() const;

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;  // with the thread, which can outlive this object if it blocks
  std::thread thread_;
};

}  // namespace hat
