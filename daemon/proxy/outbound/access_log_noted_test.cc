// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/access_log_noted_test.cc: which calls of a client connection get into the
// access log.
#include <gmock/gmock.h>

#include "daemon/proxy/fake_pair.h"
#include "daemon/proxy/outbound/client_connection.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

std::vector<LoggedCall> all_of(AccessLog& log) {
  std::vector<LoggedCall> all;
  while (auto logged = log.pop()) all.push_back(std::move(*logged));
  return all;
}

AccessLog& open_log(FakePair& pair, AccessLogConfig config) {
  config.path = "access.jsonl";
  AccessLog& log = pair.caller().access_log;
  log.open();
  log.set(config);
  return log;
}

TEST(AccessLogNoted, ASampledCallHasTheTimesOfBothHosts) {
  FakePair pair;
  AccessLog& log = open_log(pair, {.path = {}, .sample_one_in = 1});
  const auto client = pair.connect_client();
  pair.call(client, get_call(), get_reply(), 100ms);
  const std::vector<LoggedCall> logged = all_of(log);
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_EQ(logged[0].why, Logged::kSampled);
  const CallRecord& call = logged[0].call;
  EXPECT_EQ(call.counters->function->method, "get");
  EXPECT_EQ(call.peer, "host-b");
  EXPECT_EQ(call.outcome, CallOutcome::kSuccess);
  EXPECT_GE(call.took, 100ms);
  EXPECT_TRUE(call.answered);
  EXPECT_TRUE(call.there);
}

TEST(AccessLogNoted, EachSlowCallIsLogged) {
  FakePair pair;
  AccessLog& log = open_log(pair, {.path = {}, .sample_one_in = 0, .slower_than = 200ms});
  const auto client = pair.connect_client();
  pair.call(client, get_call(), get_reply(), 100ms);
  EXPECT_TRUE(all_of(log).empty());
  pair.call(client, get_call(), get_reply(), 300ms);
  const std::vector<LoggedCall> logged = all_of(log);
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_EQ(logged[0].why, Logged::kSlow);
  EXPECT_GE(logged[0].call.took, 300ms);
}

TEST(AccessLogNoted, EachCallThatHatrpcdAnswersIsLogged) {
  FunctionSpec get{.name = "get"};
  get.hints.both.timeout = 300ms;
  FakePair pair(get);
  AccessLog& log = open_log(pair, {.path = {}, .sample_one_in = 0});
  const auto client = pair.connect_client();
  pair.send(client, get_call());
  pair.pass(400ms);
  const std::vector<LoggedCall> logged = all_of(log);
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_EQ(logged[0].why, Logged::kFailed);
  EXPECT_EQ(logged[0].call.failure, engine::Failure::kDeadlineExceeded);
}

TEST(AccessLogNoted, AOnewayCallIsLoggedButIsNeverSlow) {
  FunctionSpec get{.name = "get", .oneway = true};
  FakePair pair(get);
  AccessLog& log = open_log(pair, {.path = {}, .sample_one_in = 0, .slower_than = 1us});
  const auto client = pair.connect_client();
  pair.call(client, get_call(), "");
  EXPECT_TRUE(all_of(log).empty());
  log.set({.path = "access.jsonl", .sample_one_in = 1});
  pair.call(client, get_call(), "");
  const std::vector<LoggedCall> logged = all_of(log);
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_EQ(logged[0].call.outcome, CallOutcome::kOneway);
  EXPECT_EQ(logged[0].call.peer, "host-b");
  EXPECT_FALSE(logged[0].call.answered);
}

TEST(AccessLogNoted, ACallWhoseClientLeavesIsLogged) {
  FakePair pair;
  AccessLog& log = open_log(pair, {.path = {}, .sample_one_in = 1});
  const auto client = pair.connect_client();
  pair.send(client, get_call());
  pair.pass(50ms);
  client->error = ECONNRESET;
  client->notify_readable();
  pair.pass(10ms);
  const std::vector<LoggedCall> logged = all_of(log);
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_EQ(logged[0].call.outcome, CallOutcome::kUnknown);
}

// A node with a client that makes calls which may be oneway, and get no reply.
class AccessLogOfCallsThatMayBeOneway : public testing::Test {
 protected:
  void start(AccessLogConfig config) {
    Limits limits = without_pings();
    limits.calls_per_connection_max = kMost;
    node_.emplace(limits);
    node_->receive(node_->peer_wire(), hello_bytes("host-b", ""));
    config.path = "access.jsonl";
    node_->access_log.open();
    node_->access_log.set(config);
    client_ = node_->connect_client();
  }
  void call_unlisted() {
    std::string unlisted = get_call();
    unlisted.replace(unlisted.find("get"), 3, "say");
    node_->receive(client_, unlisted);
  }
  std::vector<LoggedCall> logged() { return all_of(node_->access_log); }

  static constexpr size_t kMost = 4;

  std::optional<FakeNode> node_;
  FakeNode::Wire client_;
};

// After the client's FIN, the daemon waits only for kServerEndWait for a reply that may never come.
// Nobody knows how long such a call took: the server may have executed it at once.
TEST_F(AccessLogOfCallsThatMayBeOneway, ACallWithoutAnAnswerIsNotSlow) {
  for (const uint32_t sample_one_in : {0u, 1u}) {
    start({.path = {}, .sample_one_in = sample_one_in, .slower_than = 1s});
    call_unlisted();
    client_->end = true;
    FakeNode::read(client_);
    node_->reactor.end_iteration();
    node_->reactor.advance(ClientConnection::kServerEndWait + 1s);
    EXPECT_TRUE(client_->closed);
    const std::vector<LoggedCall> lines = logged();
    ASSERT_EQ(lines.size(), sample_one_in) << "a sample has it all the same";
    for (const LoggedCall& line : lines) EXPECT_EQ(line.call.outcome, CallOutcome::kUnknown);
    EXPECT_TRUE(node_->worker->slowest_calls().empty());
  }
}

TEST_F(AccessLogOfCallsThatMayBeOneway, TheCallsOfAConnectionThatBecomesOpaqueAreNotSlow) {
  start({.path = {}, .sample_one_in = 0, .slower_than = 1s});
  for (size_t i = 0; i < kMost; ++i) {
    call_unlisted();
    node_->reactor.advance(2s);
  }
  EXPECT_EQ(node_->counters.opaque_streams.value(), 1u);
  EXPECT_TRUE(logged().empty());
}

// The daemon closes the connection for its sake, so its line says why.
TEST_F(AccessLogOfCallsThatMayBeOneway, ACallWhoseDeadlinePassesIsSlow) {
  start({.path = {}, .sample_one_in = 0, .slower_than = 1s});
  node_->worker->set_routes(std::make_shared<RoutingTable>(
      2, Manifest{}, std::vector<std::string>{"Kv"}, engine::HostFacts{8, 8, false, ""},
      node_->metrics, std::vector<ServedConfig>{}, 5s));
  call_unlisted();
  node_->reactor.advance(2s);
  call_unlisted();
  node_->reactor.advance(4s);
  const std::vector<LoggedCall> lines = logged();
  ASSERT_EQ(lines.size(), 1u) << "nobody knows about the second call";
  EXPECT_EQ(lines[0].why, Logged::kSlow);
  EXPECT_EQ(lines[0].call.outcome, CallOutcome::kUnknown);
  EXPECT_GE(lines[0].call.took, 5s);
}

TEST(AccessLogNoted, ACallWhoseReplyIsCutIsLogged) {
  FakePair pair;
  AccessLog& log = open_log(pair, {.path = {}, .sample_one_in = 0});
  const auto client = pair.connect_client();
  pair.send(client, get_call());
  pair.pass(50ms);
  pair.server_replies(get_reply(100'000).substr(0, 70'000));
  pair.pass(50ms);
  pair.caller_link()->end = true;
  pair.caller_link()->notify_readable();
  pair.pass(10ms);
  const std::vector<LoggedCall> logged = all_of(log);
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_EQ(logged[0].why, Logged::kFailed);
  EXPECT_EQ(logged[0].call.failure, engine::Failure::kLinkLost);
  EXPECT_EQ(logged[0].call.outcome, CallOutcome::kLocalError);
}

}  // namespace
}  // namespace hat
