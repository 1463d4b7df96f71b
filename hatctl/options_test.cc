// SPDX-License-Identifier: Apache-2.0
#include "hatctl/options.h"

#include <gmock/gmock.h>

#include <vector>

#include "hatctl/help.h"

namespace hat::hatctl {
namespace {

using testing::HasSubstr;

Result<Options> parse(std::vector<std::string> words, const char* environment = nullptr) {
  words.insert(words.begin(), "hatctl");
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return parse_options(static_cast<int>(words.size()), argv.data(), environment);
}

TEST(HatctlOptions, TakeOptionsBeforeAndAfterTheCommand) {
  const auto reload = parse({"--socket", "/s", "reload", "--dry-run", "--json"});
  ASSERT_TRUE(reload) << reload.error().message;
  EXPECT_EQ(reload->command, Command::kReload);
  EXPECT_EQ(reload->socket, "/s");
  EXPECT_TRUE(reload->dry_run && reload->json);

  const auto top = parse({"top", "--interval", "0.25", "--count", "3"});
  ASSERT_TRUE(top) << top.error().message;
  EXPECT_EQ(top->interval, std::chrono::milliseconds(250));
  EXPECT_EQ(top->count, 3u);
  EXPECT_EQ(parse({"top", "--once"})->count, 1u);
  EXPECT_EQ(parse({"routes", "Kv.get"})->wanted, "Kv.get");
}

TEST(HatctlOptions, TakeTheSocketFromTheEnvironmentUnlessTold) {
  EXPECT_EQ(parse({"ping"})->socket, kDefaultSocket);
  EXPECT_EQ(parse({"ping"}, "")->socket, kDefaultSocket);
  EXPECT_EQ(parse({"ping"}, "/env")->socket, "/env");
  EXPECT_EQ(parse({"ping", "--socket", "/told"}, "/env")->socket, "/told");
}

TEST(HatctlOptions, TakePeersAndAFileForTheDoctor) {
  const auto doctor = parse({"doctor", "--config", "/c.yaml", "host-b", "host-c", "--json"});
  ASSERT_TRUE(doctor) << doctor.error().message;
  EXPECT_EQ(doctor->command, Command::kDoctor);
  EXPECT_EQ(doctor->config, "/c.yaml");
  EXPECT_EQ(doctor->peers, (std::vector<std::string>{"host-b", "host-c"}));
  EXPECT_FALSE(doctor->socket_told);
  EXPECT_TRUE(parse({"doctor"}, "/env")->socket_told);
  EXPECT_TRUE(parse({"doctor"})->peers.empty());
}

TEST(HatctlOptions, TakeWhatToMakeCertificatesFor) {
  EXPECT_EQ(parse({"certs"})->folder, "");
  const auto make = parse({"certs", "make", "d", "a", "b", "--days", "0", "--trust-domain", "p"});
  ASSERT_TRUE(make) << make.error().message;
  EXPECT_EQ(make->command, Command::kCerts);
  EXPECT_EQ(make->folder, "d");
  EXPECT_EQ(make->nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(make->days, 0u);
  EXPECT_EQ(make->trust_domain, "p");
}

TEST(HatctlOptions, SayWhichWordIsWrong) {
  const struct {
    std::vector<std::string> words;
    const char* message;
  } rows[] = {
      {{}, "no command"},
      {{"restart"}, "'restart' is not a command"},
      {{"--sokcet", "/s", "ping"}, "'--sokcet' is not an option"},
      {{"ping", "--socket"}, "'--socket' needs a value"},
      {{"ping", "--socket", std::string(108, 'x')}, "1 to 107 bytes"},
      {{"status", "now"}, "'now'"},
      {{"routes", "a", "b"}, "'b'"},
      {{"status", "--dry-run"}, "--dry-run belongs to hatctl reload"},
      {{"reload", "--once"}, "--once belongs to hatctl top"},
      {{"top", "--once", "--count", "2"}, "--once and --count"},
      {{"top", "--count", "0"}, "--count '0'"},
      {{"top", "--count", "-1"}, "--count '-1'"},
      {{"top", "--interval", "1s"}, "--interval '1s'"},
      {{"top", "--interval", "nan"}, "--interval 'nan'"},
      {{"top", "--interval", "0.05"}, "from 0.1 to 3600"},
      {{"metrics", "--json"}, "text format"},
      {{"calibrate"}, "calibrate needs a peer"},
      {{"calibrate", "a", "b"}, "'b'"},
      {{"calibrate", "a", "--write", ""}, "--write ''"},
      {{"status", "--write", "f"}, "--write belongs to hatctl calibrate"},
      {{"status", "--config", "f"}, "--config belongs to hatctl doctor"},
      {{"doctor", "--config", ""}, "--config ''"},
      {{"certs", "show"}, "'show'"},
      {{"certs", "make"}, "certs make needs a directory"},
      {{"certs", "make", "d"}, "certs make needs a directory"},
      {{"certs", "make", "d", "a", "--days", "3651"}, "from 0 to 3650"},
      {{"certs", "make", "d", "a", "--days", "-1"}, "--days '-1'"},
      {{"status", "--days", "1"}, "--days belongs to hatctl certs"},
  };
  for (const auto& row : rows) {
    const auto options = parse(row.words);
    ASSERT_FALSE(options) << row.message;
    EXPECT_THAT(options.error().message, HasSubstr(row.message));
  }
}

TEST(HatctlOptions, HaveHelpForEveryCommand) {
  EXPECT_EQ(parse({"--help"})->help, kHelp);
  EXPECT_TRUE(parse({"--version"})->version);
  for (const CommandHelp& help : kCommandHelps) {
    const std::string name(help.name);
    EXPECT_THAT(std::string(kHelp), HasSubstr("\n  " + name + " "));
    EXPECT_EQ(parse({name, "--help"})->help, help.text);
    EXPECT_EQ(parse({"-h", name})->command, help.command);
    EXPECT_THAT(std::string(help.text), HasSubstr("usage: hatctl " + name));
    EXPECT_THAT(std::string(help.text), HasSubstr("\nExample")) << name;
  }
}

}  // namespace
}  // namespace hat::hatctl
