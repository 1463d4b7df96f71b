// SPDX-License-Identifier: Apache-2.0
#include "hatctl/options.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "hatctl/help.h"
#include "tests/help_text.h"

namespace hat::hatctl {
namespace {

using testing::HasSubstr;

Result<Options> parse(const std::vector<std::string>& words, const char* environment = nullptr) {
  return parse_options(words, environment);
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
  EXPECT_EQ(parse({"routes", "Kv.get"})->route, "Kv.get");

  EXPECT_FALSE(parse({"advise"})->apply);
  const auto advise = parse({"advise", "Kv.get", "--apply"});
  ASSERT_TRUE(advise) << advise.error().message;
  EXPECT_EQ(advise->command, Command::kAdvise);
  EXPECT_EQ(advise->route, "Kv.get");
  EXPECT_TRUE(advise->apply);
}

TEST(HatctlOptions, TakeTheOrderAndNumberOfConnections) {
  const auto plain = parse({"connections"});
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->connections.order, "");
  EXPECT_EQ(plain->connections.shown, 20u);
  const auto first = parse({"connections", "--by", "buffered", "--top", "1000"});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->connections.order, "buffered");
  EXPECT_EQ(first->connections.shown, 1000u);
  EXPECT_FALSE(parse({"connections", "--by", "calls&top=9"}));
  EXPECT_FALSE(parse({"connections", "--top", "0"}));
  EXPECT_FALSE(parse({"connections", "--top", "1001"}));
  EXPECT_EQ(parse({"explain", "Kv.get"})->route, "Kv.get");
  EXPECT_FALSE(parse({"explain"}));
}

TEST(HatctlOptions, TakeAnotherHost) {
  const auto here = parse({"what-if", "nic.yaml"});
  ASSERT_TRUE(here) << here.error().message;
  EXPECT_EQ(here->command, Command::kWhatIf);
  EXPECT_EQ(here->profile, "nic.yaml");
  EXPECT_EQ(here->cores, 0u);
  const auto other =
      parse({"what-if", "nic.yaml", "--cores", "28", "--nic-cores", "14", "--config", "node.yaml"});
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->cores, 28u);
  EXPECT_EQ(other->nic_cores, 14u);
  EXPECT_EQ(other->config, "node.yaml");
}

TEST(HatctlOptions, TakeTheSocketFromTheEnvironmentUnlessTold) {
  EXPECT_EQ(parse({"ping"})->socket, kDefaultSocket);
  EXPECT_EQ(parse({"ping"}, "")->socket, kDefaultSocket);
  EXPECT_EQ(parse({"ping"}, "/env")->socket, "/env");
  EXPECT_EQ(parse({"ping", "--socket", "/told"}, "/env")->socket, "/told");
  EXPECT_THAT(parse({"ping"}, std::string(108, 'x').c_str()).error().message,
              HasSubstr("$HATRPCD_SOCKET"));
}

TEST(HatctlOptions, TakeAProgramAndItsArguments) {
  EXPECT_EQ(parse({"run", "--http", "tcp:[::1]:1", "--", "app"})->http, "tcp:[::1]:1");
  const auto run =
      parse({"run", "--library", "/l.so", "--", "app", "--json", "-x", "--", "--help"});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->command, Command::kRun);
  EXPECT_EQ(run->action, Action::kRun);
  EXPECT_EQ(run->library, "/l.so");
  EXPECT_FALSE(run->json);
  EXPECT_EQ(run->program, (std::vector<std::string>{"app", "--json", "-x", "--", "--help"}));
}

TEST(HatctlOptions, TakePeersAndAFileForTheDoctor) {
  const auto doctor = parse({"doctor", "--config", "/c.yaml", "host-b", "host-c", "--json"});
  ASSERT_TRUE(doctor) << doctor.error().message;
  EXPECT_EQ(doctor->command, Command::kDoctor);
  EXPECT_EQ(doctor->config, "/c.yaml");
  EXPECT_EQ(doctor->peers, (std::vector<std::string>{"host-b", "host-c"}));
  EXPECT_FALSE(doctor->socket_named);
  EXPECT_TRUE(parse({"doctor"}, "/env")->socket_named);
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
      {{"restart"}, "'restart' is not a command of hatctl; expected status, routes, "},
      {{"--sokcet", "/s", "ping"}, "'--sokcet' is not an option of hatctl ping (did you mean"},
      {{"ping", "--socket"}, "--socket: its value is missing"},
      {{"ping", "--socket", std::string(108, 'x')}, "1 to 107 bytes"},
      {{"status", "now"}, "'now' is not an argument of hatctl status"},
      {{"routes", "a", "b"}, "found 2 arguments, expected at most one"},
      {{"advise", "a", "b"}, "found 2 arguments, expected at most one"},
      {{"reload", "--apply"}, "'--apply' is not an option of hatctl reload"},
      {{"status", "--dry-run"}, "'--dry-run' is not an option of hatctl status"},
      {{"top", "--once", "--count", "2"}, "--once and --count"},
      {{"top", "--count", "0"}, "--count: found '0'"},
      {{"top", "--count", "-1"}, "--count: found '-1'"},
      {{"top", "--interval", "1s"}, "--interval: found '1s'"},
      {{"top", "--interval", "nan"}, "--interval: found 'nan'"},
      {{"top", "--interval", "0.05"}, "seconds from 0.1 to 3600"},
      {{"metrics", "--json"}, "text format"},
      {{"run"}, "PROGRAM"},
      {{"run", "--json", "--", "true"}, "--json does not apply to run"},
      {{"run", "ls", "-l"}, "-l"},
      {{"run", "ls", "--socket", "/x"}, "write `--` before PROGRAM"},
      {{"run", "ls", "--", "x"}, "write `--` before PROGRAM"},
      {{"run", "--http", "unix:/x", "--", "ls"}, "admin.listen"},
      {{"calibrate"}, "found 0 arguments, expected PEER"},
      {{"calibrate", "a", "b"}, "found 2 arguments, expected PEER"},
      {{"calibrate", "a", "--write", ""}, "--write: found '', expected a file"},
      {{"doctor", "--config", ""}, "--config: found '', expected a file"},
      {{"certs", "show"}, "'show'"},
      {{"certs", "make"}, "certs make needs a directory"},
      {{"certs", "make", "d"}, "certs make needs a directory"},
      {{"certs", "make", "d", "a", "--days", "3651"}, "from 0 to 3650"},
      {{"certs", "make", "d", "a", "--days", "-1"}, "--days: found '-1'"},
  };
  for (const auto& row : rows) {
    const auto options = parse(row.words);
    ASSERT_FALSE(options) << row.message;
    EXPECT_THAT(options.error().message, HasSubstr(row.message));
  }
}

TEST(HatctlOptions, HaveHelpForEveryCommand) {
  EXPECT_EQ(parse({"--help"})->help, kHelp);
  EXPECT_EQ(parse({"--version"})->action, Action::kShowVersion);
  for (const CommandHelp& help : kCommandHelps) {
    const std::string name(help.name);
    EXPECT_THAT(std::string(kHelp), HasSubstr("\n  " + name + " "));
    EXPECT_EQ(parse({name, "--help"})->help, help.text);
    EXPECT_EQ(parse({"-h", name})->help, help.text);
    EXPECT_THAT(std::string(help.text), HasSubstr("usage: hatctl " + name));
    EXPECT_THAT(std::string(help.text), HasSubstr("\nExample")) << name;
  }
}

TEST(HatctlOptions, AreThoseOfTheHelp) {
  ASSERT_EQ(options_in(kHelp).size(), 5u);
  for (const CommandHelp& help : kCommandHelps) {
    std::vector<std::string> options = options_in(help.text);
    std::ranges::copy(options_in(kHelp), std::back_inserter(options));
    for (const std::string& option : options) {
      const auto parsed = parse({std::string(help.name), option});
      EXPECT_TRUE(parsed || !parsed.error().message.contains("is not an option")) << option;
    }
  }
}

}  // namespace
}  // namespace hat::hatctl
