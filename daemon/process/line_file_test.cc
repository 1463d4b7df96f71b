// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/line_file.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace hat {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::StrEq;

// The lines that a test has added, in the order in which it added them.
struct Waiting {
  std::mutex mutex;
  std::vector<std::string> lines;

  void add(std::string line) {
    const std::lock_guard lock(mutex);
    lines.push_back(std::move(line));
  }
  size_t size() {
    const std::lock_guard lock(mutex);
    return lines.size();
  }
};

class WaitingSource final : public LineSource {
 public:
  explicit WaitingSource(std::shared_ptr<Waiting> waiting) : waiting_(std::move(waiting)) {}
  void take_lines(std::string& text, size_t enough) override {
    const std::lock_guard lock(waiting_->mutex);
    size_t taken = 0;
    while (text.size() < enough && taken < waiting_->lines.size()) {
      text += waiting_->lines[taken++] + "\n";
    }
    waiting_->lines.erase(waiting_->lines.begin(),
                          waiting_->lines.begin() + static_cast<ptrdiff_t>(taken));
  }

 private:
  std::shared_ptr<Waiting> waiting_;
};

class LineFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "line-file-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ / "lines";
    file_ = std::make_unique<LineFile>("lines", std::make_unique<WaitingSource>(waiting_));
  }
  void TearDown() override {
    file_.reset();
    fs::remove_all(folder_);
  }

  static std::string text_of(const fs::path& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static bool comes_true(const std::function<bool()>& condition) {
    for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(5ms);
    return condition();
  }
  bool has_written(uint64_t lines) {
    return comes_true([&] { return file_->counts().written >= lines; });
  }
  bool has_lost(uint64_t lines) {
    return comes_true([&] { return file_->counts().lost >= lines; });
  }

  const std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
  fs::path folder_;
  fs::path path_;
  std::unique_ptr<LineFile> file_;
};

TEST_F(LineFileTest, WritesTheLinesInTheirOrder) {
  file_->set_path(path_);
  waiting_->add("one");
  waiting_->add("two");
  ASSERT_TRUE(has_written(2));
  EXPECT_THAT(text_of(path_), StrEq("one\ntwo\n"));
  EXPECT_EQ(file_->counts().lost, 0u);
  EXPECT_EQ(fs::status(path_).permissions() & fs::perms::others_all, fs::perms::none);
}

TEST_F(LineFileTest, AppendsToAFileThatExists) {
  std::ofstream(path_) << "before\n";
  file_->set_path(path_);
  waiting_->add("after");
  ASSERT_TRUE(has_written(1));
  EXPECT_THAT(text_of(path_), StrEq("before\nafter\n"));
}

TEST_F(LineFileTest, EndsALineThatAnEarlierProcessHasCut) {
  std::ofstream(path_) << "before\nhalf a li";
  file_->set_path(path_);
  waiting_->add("after");
  ASSERT_TRUE(has_written(1));
  EXPECT_THAT(text_of(path_), StrEq("before\nhalf a li\nafter\n"));
}

// Opens and reads the file at `path`, whose last line another process completes during pause number
// `completed` (from 1; 0: never). Returns the pauses, and whether the file seemed to be cut.
std::pair<std::vector<std::chrono::milliseconds>, bool> look_at(const fs::path& path,
                                                                size_t completed) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND));
  std::vector<std::chrono::milliseconds> pauses;
  const bool is_cut = ends_within_line(file.get(), path, [&](std::chrono::milliseconds time) {
    pauses.push_back(time);
    std::ofstream(path, std::ios::app) << (pauses.size() == completed ? "line\n" : "part of a ");
  });
  return {pauses, is_cut};
}

// In a takeover, this process can see a part of the lines that the other one is writing.
TEST_F(LineFileTest, WaitsForTheEndOfALineThatAnotherProcessWrites) {
  using Pauses = std::vector<std::chrono::milliseconds>;
  std::ofstream(path_) << "before\n";
  EXPECT_EQ(look_at(path_, 0), std::pair(Pauses{}, false));
  std::ofstream(path_) << "before\nhalf a ";
  EXPECT_EQ(look_at(path_, 3), std::pair(Pauses({1ms, 2ms, 4ms}), false));
  std::ofstream(path_) << "before\nhalf a ";
  EXPECT_EQ(look_at(path_, 6), std::pair(Pauses({1ms, 2ms, 4ms, 8ms, 16ms, 32ms}), false));
  std::ofstream(path_) << "before\nhalf a ";
  EXPECT_EQ(look_at(path_, 0), std::pair(Pauses({1ms, 2ms, 4ms, 8ms, 16ms, 32ms}), true));
}

TEST_F(LineFileTest, WritesTheWaitingLinesBeforeItEnds) {
  file_->set_path(path_);
  std::string expected;
  for (int i = 0; i < 50'000; ++i) {  // several batches
    waiting_->add("line " + std::to_string(i));
    expected += "line " + std::to_string(i) + "\n";
  }
  file_.reset();
  EXPECT_EQ(text_of(path_), expected);
}

TEST_F(LineFileTest, LeavesTheLinesInTheirQueueWithoutAPath) {
  waiting_->add("one");
  std::this_thread::sleep_for(3 * LineFile::kInterval);
  EXPECT_EQ(waiting_->size(), 1u);
  file_->set_path(path_);
  ASSERT_TRUE(has_written(1));
  file_->set_path("");
  waiting_->add("two");
  file_.reset();
  EXPECT_THAT(text_of(path_), StrEq("one\n"));
}

TEST_F(LineFileTest, MakesANewFileAfterARotation) {
  file_->set_path(path_);
  waiting_->add("one");
  ASSERT_TRUE(has_written(1));
  fs::rename(path_, folder_ / "lines.1");
  waiting_->add("two");
  ASSERT_TRUE(has_written(2));
  fs::remove(path_);
  waiting_->add("three");
  ASSERT_TRUE(has_written(3));
  EXPECT_THAT(text_of(folder_ / "lines.1"), StrEq("one\n"));
  EXPECT_THAT(text_of(path_), StrEq("three\n"));
}

TEST_F(LineFileTest, FollowsAnotherPath) {
  file_->set_path(path_);
  waiting_->add("one");
  ASSERT_TRUE(has_written(1));
  file_->set_path(folder_ / "other");
  waiting_->add("two");
  ASSERT_TRUE(has_written(2));
  EXPECT_THAT(text_of(path_), StrEq("one\n"));
  EXPECT_THAT(text_of(folder_ / "other"), StrEq("two\n"));
}

TEST_F(LineFileTest, CountsLinesWhoseFolderIsMissingAndTriesAgain) {
  const fs::path folder = folder_ / "missing";
  file_->set_path(folder / "lines");
  waiting_->add("one");
  ASSERT_TRUE(has_lost(1));
  fs::create_directory(folder);
  waiting_->add("two");
  ASSERT_TRUE(has_written(1));
  EXPECT_THAT(text_of(folder / "lines"), StrEq("two\n"));
}

TEST_F(LineFileTest, CountsLinesForWhichTheDiskHasNoSpace) {
  file_->set_path("/dev/full");
  waiting_->add("one");
  waiting_->add("two");
  ASSERT_TRUE(has_lost(2));
  EXPECT_EQ(file_->counts().written, 0u);
}

// While it exists, the files of this process cannot grow beyond `bytes`.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~SizeLimit() {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(LineFileTest, EndsALineThatWasCut) {
  file_->set_path(path_);
  {
    const SizeLimit limit(10);
    waiting_->add("a line that is cut");
    ASSERT_TRUE(has_lost(1));
  }
  waiting_->add("next");
  ASSERT_TRUE(has_written(1));
  waiting_->add("last");
  ASSERT_TRUE(has_written(2));
  EXPECT_THAT(text_of(path_), StrEq("a line tha\nnext\nlast\n"));
  EXPECT_EQ(file_->counts().lost, 1u);
}

TEST_F(LineFileTest, OpensItsFileWithoutLines) {
  file_->set_path(path_);
  EXPECT_TRUE(comes_true([&] { return fs::exists(path_); }));
  file_->set_path(folder_ / "other");
  EXPECT_TRUE(comes_true([&] { return fs::exists(folder_ / "other"); }));
}

// While a program writes to a pipe, and has closed it, its reader finds the end of the file.
TEST_F(LineFileTest, KeepsAPipeOpen) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const Descriptor reader(open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  file_->set_path(path_);
  char byte = 0;
  const auto has_writer = [&] { return read(reader.get(), &byte, 1) == -1 && errno == EAGAIN; };
  ASSERT_TRUE(comes_true(has_writer));
  std::this_thread::sleep_for(2 * LineFile::kInterval);
  EXPECT_TRUE(has_writer());
}

// Keeps the messages of its time that have `text`.
class Messages final : public google::LogSink {
 public:
  explicit Messages(std::string text) : text_(std::move(text)) { google::AddLogSink(this); }
  ~Messages() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity, const char*, const char*, int, const google::LogMessageTime&,
            const char* message, size_t size) override {
    const std::lock_guard lock(mutex_);
    if (std::string_view(message, size).contains(text_)) ++count_;
  }
  size_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  const std::string text_;
  mutable std::mutex mutex_;
  size_t count_ = 0;
};

TEST_F(LineFileTest, ReportsOnceThatItCannotOpenItsFile) {
  const Messages failures("lines: cannot write to " + (folder_ / "missing/lines").string() +
                          ": No such file or directory");
  file_->set_path(folder_ / "missing" / "lines");
  ASSERT_TRUE(comes_true([&] { return failures.count() == 1; })) << "without a line";
  EXPECT_EQ(file_->counts().lost, 0u);
  waiting_->add("one");
  ASSERT_TRUE(has_lost(1));
  EXPECT_EQ(failures.count(), 1u);
}

TEST_F(LineFileTest, CountsLinesOfAPipeThatNobodyReads) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  file_->set_path(path_);
  waiting_->add("one");
  ASSERT_TRUE(has_lost(1));
  const Descriptor reader(open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  waiting_->add("two");
  ASSERT_TRUE(has_written(1));
  char read_bytes[8];
  EXPECT_EQ(read(reader.get(), read_bytes, sizeof read_bytes), 4);
}

TEST_F(LineFileTest, EndsAlthoughTheFileBlocks) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const Descriptor reader(open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  file_->set_path(path_);
  for (int i = 0; i < 3000; ++i) waiting_->add(std::string(1000, 'x'));  // more than a pipe holds
  ASSERT_TRUE(comes_true([&] { return waiting_->size() < 3000; }));
  file_.reset();
  EXPECT_GT(waiting_->size(), 0u) << "the thread blocked";
}

TEST_F(LineFileTest, CanLeaveTheWaitingLinesInTheirQueue) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const Descriptor reader(open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  file_->set_path(path_);
  for (int i = 0; i < 3000; ++i) waiting_->add(std::string(1000, 'x'));
  ASSERT_TRUE(comes_true([&] { return waiting_->size() < 3000; }));
  file_->stop_without_waiting_lines();
  const size_t left = waiting_->size();
  EXPECT_GT(left, 0u);
  EXPECT_EQ(file_->counts().taken, 3000 - left);
}

}  // namespace
}  // namespace hat
