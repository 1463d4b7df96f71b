// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/line_file.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/counter.h"
#include "daemon/process/write_news.h"

namespace hat {
namespace {

uint64_t lines_in(std::string_view text) {
  return static_cast<uint64_t>(std::ranges::count(text, '\n'));
}

// Opens the file at `path`, and makes it if there is none. The descriptor does not block. On
// failure it is not open, and errno has the reason.
Descriptor open_to_append(const std::string& path) {
  constexpr mode_t kForOwnerAndGroup = 0640;
  // With O_NONBLOCK, open() fails for a pipe that no process reads, and does not wait for one.
  // With O_NOCTTY, a terminal does not become the daemon's.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  return Descriptor(::open(path.c_str(), kFlags, kForOwnerAndGroup));
}

// Returns true if the last byte of the regular file that is open as `reader` is within a line.
bool is_cut_now(int reader) {
  struct stat found {};
  if (fstat(reader, &found) != 0 || found.st_size == 0) return false;
  char last = '\n';
  return pread(reader, &last, 1, found.st_size - 1) == 1 && last != '\n';
}

// The file, as the thread sees it.
class Appender {
 public:
  // Opens the file at `path`, unless it is open. If it returns false, errno has the reason.
  bool open(const std::string& path) { return is_at(path) || open_at(path); }

  // Appends `text`, whole lines, to the open file. Returns how many bytes it has written; if these
  // are not all, errno has the reason.
  size_t append(std::string_view text) {
    if (is_cut_ && write_all("\n") != 1) return 0;
    const size_t written = write_all(text);
    is_cut_ = written != 0 && text[written - 1] != '\n';
    return written;
  }

 private:
  // Returns true if the open file is the one at `path`.
  bool is_at(const std::string& path) const {
    struct stat open {};
    struct stat named {};
    return file_.get() >= 0 && fstat(file_.get(), &open) == 0 && stat(path.c_str(), &named) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
  }

  bool open_at(const std::string& path) {
    file_ = open_to_append(path);
    if (file_.get() < 0) return false;
    is_cut_ = ends_within_line(file_.get(), path, [](std::chrono::milliseconds time) {
      std::this_thread::sleep_for(time);
    });
    return fcntl(file_.get(), F_SETFL, O_APPEND) == 0;
  }

  size_t write_all(std::string_view text) const {
    size_t written = 0;
    while (written < text.size()) {
      const ssize_t bytes = ::write(file_.get(), text.data() + written, text.size() - written);
      if (bytes > 0) {
        written += static_cast<size_t>(bytes);
      } else if (bytes == 0 || errno != EINTR) {
        break;
      }
    }
    return written;
  }

  Descriptor file_;
  bool is_cut_ = false;  // the last line of the file has no end, because the disk was full
};

}  // namespace

bool ends_within_line(int file, const std::string& path,
                      const std::function<void(std::chrono::milliseconds)>& pause) {
  constexpr std::chrono::milliseconds kLongestPause{32};
  // A pipe has no end to look at, and opening it would disturb its other reader.
  struct stat found {};
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return false;
  const Descriptor reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  for (std::chrono::milliseconds time{1}; time <= kLongestPause; time *= 2) {
    if (!is_cut_now(reader.get())) return false;
    pause(time);
  }
  return is_cut_now(reader.get());
}

struct LineFile::Shared {
  const std::string name;
  SharedCounter taken;
  SharedCounter written;
  SharedCounter lost;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by the mutex:
  std::unique_ptr<LineSource> source;  // null: the owner has given up
  std::string path;
  bool must_end = false;
  bool has_ended = false;

  Shared(std::string of, std::unique_ptr<LineSource> from)
      : name(std::move(of)), source(std::move(from)) {}

  // Waits for the next interval, unless `at_once`, or for a path other than `to`. Appends lines to
  // `text`, and sets `to` to the path of their file. `text` can stay empty if the path is new.
  // Returns false if there are neither lines nor a new path, and the thread is to end.
  bool wait_for_lines(std::string& text, std::string& to, bool at_once) {
    std::unique_lock lock(mutex);
    for (;; at_once = false) {
      if (!at_once && !must_end && path == to) wait(lock);
      if (source && !path.empty()) source->take_lines(text, kBatchBytes);
      const bool is_new = !path.empty() && path != to;
      to = path;
      if (!text.empty() || is_new) return true;
      if (must_end) {
        has_ended = true;
        changed.notify_all();
        return false;
      }
    }
  }

 private:
  void wait(std::unique_lock<std::mutex>& lock) {
    if (path.empty()) {
      changed.wait(lock);
    } else {
      changed.wait_for(lock, kInterval);
    }
  }
};

LineFile::LineFile(std::string name, std::unique_ptr<LineSource> source)
    : shared_(std::make_shared<Shared>(std::move(name), std::move(source))) {
  // Only the main thread handles signals.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([shared = shared_] { run(shared); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), shared_->name.c_str());
}

void LineFile::stop() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(shared_->mutex);
  shared_->must_end = true;
  shared_->changed.notify_all();
  const bool ended =
      shared_->changed.wait_for(lock, kStopTime, [this] { return shared_->has_ended; });
  shared_->source.reset();
  const std::string path = shared_->path;
  lock.unlock();
  if (ended) {
    thread_.join();
    return;
  }
  LOG(WARNING) << shared_->name << ": " << path << " has not taken the last lines within "
               << kStopTime.count() << " s; they are lost";
  thread_.detach();
}

void LineFile::stop_without_waiting_lines() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->source.reset();
  }
  stop();
}

void LineFile::set_path(std::string path) {
  const std::lock_guard lock(shared_->mutex);
  shared_->path = std::move(path);
  shared_->changed.notify_all();
}

LineFile::Counts LineFile::counts() const {
  return {.written = shared_->written.value(),
          .lost = shared_->lost.value(),
          .taken = shared_->taken.value()};
}

void LineFile::run(const std::shared_ptr<Shared>& shared) {
  Appender file;
  WriteNews news;
  bool is_full = false;  // the last batch was: there are probably more lines
  std::string text;
  std::string path;
  while (shared->wait_for_lines(text, path, is_full)) {
    shared->taken.add(lines_in(text));
    const bool is_open = file.open(path);
    const size_t bytes = is_open ? file.append(text) : 0;
    const int error = is_open && bytes == text.size() ? 0 : errno;
    if (text.empty() && error == 0) continue;  // a file that is open can still take no lines
    const uint64_t written = lines_in(std::string_view(text).substr(0, bytes));
    const uint64_t lost = lines_in(text) - written;
    shared->written.add(written);
    shared->lost.add(lost);
    switch (news.of(path, error, std::chrono::steady_clock::now())) {
      case WriteNews::kNone:
        break;
      case WriteNews::kFails:
        LOG(WARNING) << shared->name << ": cannot write to " << path << ": " << std::strerror(error)
                     << "; lines are lost until it accepts them";
        break;
      case WriteNews::kWorksAgain:
        LOG(INFO) << shared->name << ": writes to " << path << " again";
        break;
    }
    is_full = text.size() >= kBatchBytes;
    text.clear();
  }
}

}  // namespace hat
