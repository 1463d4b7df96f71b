// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/access_log_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/descriptor.h"
#include "daemon/metrics/fake_call_record.h"
#include "daemon/metrics/function_metrics.h"

namespace hat {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class AccessLogFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "access-log-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    config_.path = folder_ / "access.jsonl";
    config_.sample_one_in = 1;
  }
  void TearDown() override { fs::remove_all(folder_); }

  LoggedCall call(const std::string& method = "get") {
    return {answered_call(registry_.find("Kv", method).at(Side::kClient, 0)), Logged::kSlow};
  }
  std::string text() const {
    std::ifstream stream(config_.path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  MetricsRegistry registry_{2};
  fs::path folder_;
  AccessLogConfig config_;
};

TEST_F(AccessLogFileTest, ALineHasTheTimeAndTheReasonFirst) {
  LoggedCall logged = call();
  logged.call.began = TimePoint(5s + 45us);
  const std::string line = access_line(logged, 1, 1'796'004'612s);
  EXPECT_EQ(line,
            R"({"time":"2026-11-30T02:10:17.000045Z","logged":"slow","service":"Kv",)"
            R"("method":"get","peer":"host-b","worker":1,"outcome":"success","reason":null,)"
            R"("request_protocol":"tcp","reply_protocol":"tcp","request_bytes":7,"reply_bytes":9,)"
            R"("took_us":100000.0,"waited_us":10000.0,"answered_us":80000.0,"wire_us":16000.0,)"
            R"("peer_us":24000.0,"server_us":40000.0,"reply_us":10000.0,"trace_id":null})"
            "\n");
}

TEST_F(AccessLogFileTest, TextsOfOthersAreEscaped) {
  LoggedCall logged = call("a\"b\n\xff");
  logged.call.peer = "\xc3";
  const std::string line = access_line(logged, 0, {});
  EXPECT_THAT(line, AllOf(HasSubstr(R"("method":"a\"b\n)"), EndsWith("}\n")));
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_EQ(json::parse(line).at("peer"), "\xef\xbf\xbd") << "the replacement character";
}

TEST_F(AccessLogFileTest, TheLinesOfAllWorkersAreInTheFile) {
  AccessLogFile file(2, 1);
  file.set(config_);
  file.of_worker(0).add(call("get").call, Logged::kSampled);
  file.of_worker(1).add(call("put").call, Logged::kSampled);
  const AccessLogConfig none{.path = "", .location = {}};
  file.set(none);  // writes the records that wait
  EXPECT_EQ(file.counts().written, 2u);
  EXPECT_THAT(text(), AllOf(StartsWith("{\"time\":"), HasSubstr("\"get\""), HasSubstr("\"put\"")));
  file.set(config_);
  file.of_worker(1).add(call("put").call, Logged::kSampled);
  file.set(none);
  EXPECT_EQ(file.counts().written, 3u);
}

// A file whose writer blocks: a pipe that is full, and whose reader reads nothing.
class FullPipe {
 public:
  explicit FullPipe(const fs::path& path) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    reader_ = Descriptor(open(path.c_str(), O_RDONLY | O_NONBLOCK));
    const Descriptor writer(open(path.c_str(), O_WRONLY | O_NONBLOCK));
    const std::string bytes(4096, 'x');
    while (write(writer.get(), bytes.data(), bytes.size()) > 0) continue;
    EXPECT_EQ(errno, EAGAIN);
  }

 private:
  Descriptor reader_;
};

// A worker is silent while the log is switched off: it adds a record afterwards.
TEST_F(AccessLogFileTest, RecordsFromBeforeItIsSwitchedOnAreLost) {
  const AccessLogConfig none{.path = "", .location = {}};
  AccessLogFile file(2, 1);
  file.set(config_);
  file.set(none);
  file.of_worker(1).add(call("old").call, Logged::kSampled);
  file.set(config_);
  file.of_worker(1).add(call("new").call, Logged::kSampled);
  file.set(none);  // writes the records that wait
  EXPECT_THAT(text(), AllOf(HasSubstr("\"new\""), Not(HasSubstr("\"old\""))));
  EXPECT_EQ(file.counts().written, 1u);
  EXPECT_EQ(file.counts().lost, 1u);
}

TEST_F(AccessLogFileTest, AnotherPathHelpsWhileTheFileBlocks) {
  const fs::path pipe = folder_ / "pipe";
  const FullPipe full(pipe);
  AccessLogFile file(1, 1);
  file.set({.path = pipe, .location = {}});
  const auto add = [&](const char* method) {
    file.of_worker(0).add(call(method).call, Logged::kSampled);
  };
  uint64_t added = 0;
  // The queue has accepted more records than it holds, so the thread has taken some. It hangs.
  for (; added - file.counts().dropped <= AccessLog::kQueueMax; ++added) {
    add("old");
    if (file.counts().dropped != 0) std::this_thread::sleep_for(1ms);
  }
  const auto begin = std::chrono::steady_clock::now();
  file.set(config_);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, LineFile::kStopTime) << "it did not hang";
  EXPECT_EQ(file.counts().written, 0u);
  for (int i = 0; i < 2000 && !text().contains("new"); ++i) {
    std::this_thread::sleep_for(5ms);
    add("new");
    ++added;
  }
  EXPECT_THAT(text(), HasSubstr("\"new\""));
  file.set({.path = "", .location = {}});
  const AccessLogCounts counts = file.counts();
  EXPECT_EQ(counts.written + counts.lost + counts.dropped, added);
}

TEST_F(AccessLogFileTest, CountsTheRecordsThatItThrowsAway) {
  const fs::path pipe = folder_ / "pipe";
  const FullPipe full(pipe);
  AccessLogFile file(1, 1);
  file.set({.path = pipe, .location = {}});
  uint64_t added = 0;
  for (; file.counts().dropped == 0; ++added) {
    file.of_worker(0).add(call().call, Logged::kSampled);
  }
  file.set({.path = "", .location = {}});
  const AccessLogCounts counts = file.counts();
  EXPECT_EQ(counts.written + counts.lost + counts.dropped, added);
  EXPECT_GT(counts.lost, AccessLog::kQueueMax / 2);
}

TEST_F(AccessLogFileTest, CountsCallsThatItCouldNotLog) {
  AccessLogFile file(1, 1);
  config_.path = "/dev/full";
  file.set(config_);
  file.of_worker(0).add(call().call, Logged::kSampled);
  file.set({.path = "", .location = {}});
  EXPECT_EQ(file.counts().written, 0u);
  EXPECT_EQ(file.counts().lost, 1u);
  EXPECT_EQ(file.counts().dropped, 0u);
}

}  // namespace
}  // namespace hat
