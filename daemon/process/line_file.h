// SPDX-License-Identifier: Apache-2.0
// daemon/process/line_file.h: a thread that appends lines to a file, such as a log of calls.
//
// The owner puts records into queues of its own; this thread takes them from there as text, every
// kInterval. A file that blocks (a full pipe, a slow disk) therefore delays only this thread: the
// queues fill, and their owner counts the records for which there is no space.
//
// Rotation  The thread opens the file at a new path at once, and makes it if there is none. Before
//           each write it compares the file with the one at the path. If another program has
//           renamed or removed the file, the thread makes a new one. It writes at the end
//           (O_APPEND), so several processes can write to one regular file; in a pipe, their lines
//           can mix. If the disk becomes full, a line can be cut; the thread ends it before the
//           next one, also if an earlier process has left it.
// Errors    Lines that cannot be written are lost and counted. The thread logs the first error, and
//           when it can write again (daemon/process/write_news.h); it tries to open the file again
//           for the next lines. It also logs that it cannot open the file at a new path.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/descriptor.h"

namespace hat {

// Returns true if the file at `path`, which is open as `file`, ends within a line. A process that
// has ended while the disk was full can have left it so. The file can also end within a line for a
// moment, while another process appends whole lines. So this function looks again, after a call of
// pause() for 1 ms, 2 ms and so on up to 32 ms, before it returns true. If the write of the other
// process takes longer than all pauses, the result is wrong, and its reader adds an empty line.
bool ends_within_line(int file, const std::string& path,
                      const std::function<void(std::chrono::milliseconds)>& pause);

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

  // Sets the path of the file for the lines from now on. The thread opens it soon, without waiting
  // for lines: an operator must see a wrong path at once, and a program that reads a pipe must not
  // see its end. While the path is empty, the thread sleeps, and the records stay in their queues.
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
