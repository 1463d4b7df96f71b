// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/kept_learning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace hat {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class KeptLearningTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "kept-learning-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    file_ = folder_ / "learned.yaml";
    node_.peers = {{.name = "host-b", .link = {}, .location = {}, .identity = ""}};
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Returns the routes of the service Kv; the functions in `learned` have `plan: learned`.
  RoutingTable routes(const std::vector<std::string>& learned) {
    ServiceSpec kv{.name = "Kv"};
    for (const char* method : {"get", "put"}) {
      FunctionSpec function{.name = method};
      if (std::ranges::find(learned, method) != learned.end()) {
        function.hints.client.plan = PlanSource::kLearned;
        function.hints.server.plan = PlanSource::kLearned;
      }
      kv.functions.push_back(function);
    }
    Manifest manifest;
    manifest.services = {kv};
    return {1, manifest, {}, host_, metrics_};
  }
  std::string text() const {
    std::ifstream stream(file_);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  LearnedChoices in_file() const { return *KeptLearning(file_, "host-a").begin(); }

  fs::path folder_;
  fs::path file_;
  NodeConfig node_;
  engine::HostFacts host_{8, 8, true, ""};
  MetricsRegistry metrics_{1};
};

const LearnedFunction kGet{"host-b", "Kv", "get"};
const LearnedFunction kPut{"host-b", "Kv", "put"};

TEST_F(KeptLearningTest, TheNextProcessHasTheChoices) {
  const RoutingTable both = routes({"get", "put"});
  KeptLearning first(file_, "host-a");
  EXPECT_THAT(*first.begin(), IsEmpty());
  first.save({{kGet, "rfp, busy"}}, node_, both);
  first.save({{kPut, "tcp, event"}}, node_, both);  // get was not called

  KeptLearning second(file_, "host-a");
  EXPECT_EQ(*second.begin(), (LearnedChoices{{kGet, "rfp, busy"}, {kPut, "tcp, event"}}));
  second.save({{kPut, ""}}, node_, both);
  EXPECT_EQ(in_file(), (LearnedChoices{{kGet, "rfp, busy"}})) << "put uses the plan of its hints";
  second.save({}, node_, routes({}));
  EXPECT_EQ(in_file(), (LearnedChoices{{kGet, "rfp, busy"}})) << "get may get the hint back";
}

TEST_F(KeptLearningTest, KeepsChoicesWhileNoFunctionCanLearn) {
  KeptLearning first(file_, "host-a");
  first.begin();
  first.save({{kGet, "rfp, busy"}}, node_, routes({"get"}));
  host_.rdma = false;  // the device is not up yet
  KeptLearning second(file_, "host-a");
  second.begin();
  const RoutingTable without = routes({"get"});
  EXPECT_FALSE(without.learns());
  second.save({}, node_, without);
  EXPECT_EQ(in_file(), (LearnedChoices{{kGet, "rfp, busy"}}));
}

TEST_F(KeptLearningTest, DropsPeersAndFunctionsThatTheNodeDoesNotHave) {
  const RoutingTable get = routes({"get"});
  KeptLearning kept(file_, "host-a");
  kept.begin();
  kept.save({{kGet, "rfp, busy"},
             {{"host-c", "Kv", "get"}, "rfp, busy"},
             {{"host-b", "Kv", "scan"}, "rfp, busy"},
             {{"host-b", "Other", "get"}, "rfp, busy"}},
            node_, get);
  EXPECT_EQ(in_file(), (LearnedChoices{{kGet, "rfp, busy"}}));
}

TEST_F(KeptLearningTest, WritesOnlyChanges) {
  const RoutingTable get = routes({"get"});
  KeptLearning kept(file_, "host-a");
  kept.begin();
  kept.save({{kGet, "rfp, busy"}}, node_, get);
  fs::remove(file_);
  kept.save({{kGet, "rfp, busy"}}, node_, get);
  EXPECT_FALSE(fs::exists(file_));
  kept.save({{kGet, "tcp, busy"}}, node_, get);
  EXPECT_TRUE(fs::exists(file_));
}

TEST_F(KeptLearningTest, MakesNoFileIfNoFunctionLearnsOrNothingWasLoaded) {
  KeptLearning kept(file_, "host-a");
  kept.save({{kGet, "rfp, busy"}}, node_, routes({"get"}));
  kept.begin();
  kept.save({}, node_, routes({}));
  EXPECT_FALSE(fs::exists(file_));

  KeptLearning none("", "host-a");
  EXPECT_THAT(*none.begin(), IsEmpty());
  none.save({{kGet, "rfp, busy"}}, node_, routes({"get"}));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(KeptLearningTest, AFileWithMistakesIsReplaced) {
  for (const char* broken : {"", "hatrpc_learned: [", "hatrpc_learned: 2\nchoices: {}\n"}) {
    std::ofstream(file_) << broken;
    KeptLearning kept(file_, "host-a");
    EXPECT_THAT(*kept.begin(), IsEmpty());
    kept.save({}, node_, routes({"get"}));
    EXPECT_THAT(text(), HasSubstr("hatrpc_learned: 1\n")) << broken;
  }
}

TEST_F(KeptLearningTest, LeavesFilesOfOthersAsTheyAre) {
  const RoutingTable get = routes({"get"});
  KeptLearning other(file_, "host-z");
  other.begin();
  other.save({{kGet, "tcp, busy"}}, node_, get);
  const std::string of_other_node = text();
  for (const std::string& others : {of_other_node, std::string("hatrpc_profile: 1\n")}) {
    std::ofstream(file_) << others;
    KeptLearning kept(file_, "host-a");
    EXPECT_THAT(*kept.begin(), IsEmpty());
    EXPECT_FALSE(kept.writes());
    kept.save({{kGet, "rfp, busy"}}, node_, get);
    EXPECT_EQ(text(), others);
  }
  fs::remove(file_);
  fs::create_directory(file_);  // cannot be read
  KeptLearning kept(file_, "host-a");
  EXPECT_THAT(*kept.begin(), IsEmpty());
  EXPECT_FALSE(kept.writes());
}

TEST_F(KeptLearningTest, LeavesTheFileToTheNextProcess) {
  const RoutingTable get = routes({"get"});
  KeptLearning first(file_, "host-a");
  first.begin();
  first.save({{kGet, "rfp, busy"}}, node_, get);
  first.release();
  KeptLearning second(file_, "host-a");
  EXPECT_EQ(*second.begin(), (LearnedChoices{{kGet, "rfp, busy"}}));
  second.save({{kGet, "tcp, event"}}, node_, get);
  first.save({{kGet, "eager, event"}}, node_, get);
  EXPECT_EQ(in_file(), (LearnedChoices{{kGet, "tcp, event"}}));

  first.begin();  // the second one has failed
  first.save({{kGet, "eager, event"}}, node_, get);
  EXPECT_EQ(in_file(), (LearnedChoices{{kGet, "eager, event"}}));
}

TEST_F(KeptLearningTest, AFileThatCannotBeWrittenLosesNothingElse) {
  const RoutingTable get = routes({"get"});
  KeptLearning kept(folder_ / "none" / "learned.yaml", "host-a");
  EXPECT_THAT(*kept.begin(), IsEmpty());
  testing::internal::CaptureStderr();
  kept.save({{kGet, "rfp, busy"}}, node_, get);
  kept.save({{kGet, "rfp, busy"}}, node_, get);
  const std::string log = testing::internal::GetCapturedStderr();
  const std::string message = "what was learned is lost when hatrpcd ends";
  EXPECT_THAT(log, HasSubstr(message));
  EXPECT_EQ(log.find(message), log.rfind(message)) << "logged once";

  fs::create_directory(folder_ / "none");
  kept.save({{kGet, "rfp, busy"}}, node_, get);
  EXPECT_TRUE(fs::exists(folder_ / "none" / "learned.yaml"));
}

TEST_F(KeptLearningTest, TheFileIsThatOfTheKeyOrInTheStateDirectory) {
  unsetenv("STATE_DIRECTORY");
  EXPECT_EQ(KeptLearning::file_of(node_), "");
  setenv("STATE_DIRECTORY", "/var/lib/hatrpcd:/var/lib/other", 1);
  EXPECT_EQ(KeptLearning::file_of(node_), "/var/lib/hatrpcd/learned.yaml");
  node_.learned = "/etc/hatrpc/l.yaml";
  EXPECT_EQ(KeptLearning::file_of(node_), "/etc/hatrpc/l.yaml");
  unsetenv("STATE_DIRECTORY");
}

}  // namespace
}  // namespace hat
