// SPDX-License-Identifier: Apache-2.0
#include "bench/atb/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hat::atb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> found;
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    found.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

Options parsed(const std::string& line) {
  auto result = parse_options(words(line));
  EXPECT_TRUE(result) << line << ": " << result.error().message;
  return result ? *result : Options{};
}

TEST(AtbOptions, AreWhatTheyAreUnlessTold) {
  const Options latency = parsed("latency 9090");
  EXPECT_EQ(latency.command, Command::kLatency);
  EXPECT_EQ(latency.iterations, 10000u);
  EXPECT_EQ(latency.seconds, 5);
  EXPECT_EQ(latency.min_bytes, 4u);
  EXPECT_EQ(latency.max_bytes, 512u * 1024);
  const Options mix = parsed("mix 9090");
  EXPECT_EQ(mix.command, Command::kMix);
  EXPECT_EQ(mix.iterations, 0u);
  EXPECT_EQ(mix.latency_percent, 50u);
  EXPECT_FALSE(mix.json);
}

TEST(AtbOptions, AreReadInAnyOrderAndBothSpellings) {
  const Options mix = parsed(
      "mix --json --threads=3 9090 --latency-request-size 1KiB --latency-answer-size=2 "
      "--throughput-request-size 128KiB --throughput-answer-size 0 --latency-percent 100 "
      "--processes 2 --iterations 7 --seconds 0 --warm-up 0.25 --timeout 3");
  EXPECT_TRUE(mix.json);
  EXPECT_EQ(mix.threads, 3u);
  EXPECT_EQ(mix.processes, 2u);
  EXPECT_EQ(mix.latency.request_bytes, 1024u);
  EXPECT_EQ(mix.latency.answer_bytes, 2u);
  EXPECT_EQ(mix.throughput.request_bytes, 128u * 1024);
  EXPECT_EQ(mix.throughput.answer_bytes, 0u);
  EXPECT_EQ(mix.latency_percent, 100u);
  EXPECT_EQ(mix.iterations, 7u);
  EXPECT_EQ(mix.seconds, 0);
  EXPECT_EQ(mix.warm_up, 0.25);
  EXPECT_EQ(mix.timeout, 3u);
  const Options throughput = parsed("throughput --size 64KiB 9090");
  EXPECT_EQ(throughput.throughput.request_bytes, 64u * 1024);
  EXPECT_EQ(throughput.throughput.answer_bytes, 64u * 1024);
  EXPECT_EQ(parsed("server 0 --clients 512").clients_max, 512u);
}

TEST(AtbOptions, TakeAddressesInTheWaysOfPeopleAndOfHatrpcd) {
  const struct {
    const char* written;
    const char* meant;
  } kCases[] = {
      {"9090", "tcp:127.0.0.1:9090"},
      {"host-b:9090", "tcp:host-b:9090"},
      {"[::1]:9090", "tcp:[::1]:9090"},
      {"tcp:host-b:9090", "tcp:host-b:9090"},
      {"/run/atb.sock", "unix:/run/atb.sock"},
      {"unix:/run/atb.sock", "unix:/run/atb.sock"},
      {"shm:/run/atb.ring", "shm:/run/atb.ring"},
  };
  for (const auto& one : kCases) {
    EXPECT_EQ(to_string(parsed("latency " + std::string(one.written)).address), one.meant);
  }
}

TEST(AtbOptions, NameWhatIsWrong) {
  const struct {
    const char* line;
    const char* said;
  } kCases[] = {
      {"", "no command is given"},
      {"latencies 9090", "'latencies' is not a command of atb (did you mean 'latency'?)"},
      {"latency", "found 0 arguments, expected ADDRESS"},
      {"latency no-port", "no-port"},
      {"latency 9090 9091", "found 2 arguments, expected ADDRESS"},
      {"latency 9090 --threads 2", "'--threads' is not an option of atb latency"},
      {"throughput 9090 --sise=5",
       "'--sise' is not an option of atb throughput (did you mean '--size'?)"},
      {"server 9090 --json", "'--json' is not an option of atb server"},
      {"throughput 9090 --size", "--size: its value is missing"},
      {"throughput 9090 --size 9MiB", "--size: found '9MiB', expected bytes up to 8MiB"},
      {"throughput 9090 --size 5kb", "--size: found '5kb', expected bytes"},
      {"mix 9090 --latency-percent 101",
       "--latency-percent: found '101', expected a number from 0 to 100"},
      {"mix 9090 --threads 0", "--threads: found '0', expected a number from 1 to 4096"},
      {"mix 9090 --seconds nan", "--seconds: found 'nan', expected seconds"},
      {"mix 9090 --seconds -1", "--seconds: found '-1', expected seconds"},
      {"mix 9090 --seconds 0", "so that the measurement ends"},
      {"latency 9090 --min 8 --max 4", "--min 8 is above --max 4"},
      {"latency 9090 --factor 1", "--factor: found '1', expected a number from 2 to 1024"},
  };
  for (const auto& one : kCases) {
    const auto result = parse_options(words(one.line));
    ASSERT_FALSE(result) << one.line;
    EXPECT_THAT(result.error().message, HasSubstr(one.said)) << one.line;
  }
}

TEST(AtbOptions, HelpListsWhatEachCommandTakes) {
  const struct {
    const char* line;
    const char* there;
    const char* not_there;
  } kCases[] = {
      {"--help", "usage: atb COMMAND ADDRESS", "--timeout"},
      {"server --help", "--clients", "--json"},
      {"latency -h", "--factor", "--threads"},
      {"throughput 9090 --help", "--size", "--latency-percent"},
      {"mix --help", "--latency-percent", "--size "},
  };
  for (const auto& one : kCases) {
    const auto result = parse_options(words(one.line));
    ASSERT_TRUE(result) << one.line;
    EXPECT_EQ(result->action, Action::kShowHelp);
    const std::string& text = result->help;
    EXPECT_THAT(text, HasSubstr(one.there)) << one.line;
    EXPECT_THAT(text, HasSubstr("example")) << one.line;
    EXPECT_EQ(text.find(one.not_there), std::string::npos) << one.line;
  }
}

TEST(AtbOptions, PayloadsGrowFromTheSmallestToTheLargest) {
  const auto sizes = [](const std::string& options) {
    return payload_sizes(parsed("latency 9090 " + options));
  };
  EXPECT_THAT(sizes("--min 4 --max 64"), ElementsAre(4, 8, 16, 32, 64));
  EXPECT_THAT(sizes("--min 4 --max 100 --factor 4"), ElementsAre(4, 16, 64, 100));
  EXPECT_THAT(sizes("--min 512 --max 512"), ElementsAre(512));
  EXPECT_THAT(sizes("--min 0 --max 3"), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(sizes("").size(), 18u);
  EXPECT_EQ(sizes("--min 8MiB --max 8MiB").back(), 8u << 20);
}

}  // namespace
}  // namespace hat::atb
