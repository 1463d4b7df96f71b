// SPDX-License-Identifier: Apache-2.0
#include <event2/event.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "base/owned.h"
#include "daemon/discovery/fake_dns.h"
#include "daemon/discovery/resolver.h"

namespace hat {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

using Base = Owned<event_base, event_base_free>;

class DnsResolverTest : public testing::Test {
 protected:
  DnsResolverTest() {
    std::string folder = testing::TempDir() + "dns-XXXXXX";
    folder_ = mkdtemp(folder.data());
    ask_at(dns_);
    resolver_ = resolver(seconds(10));
  }
  ~DnsResolverTest() override {
    resolver_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::unique_ptr<Resolver> resolver(std::chrono::milliseconds patience) const {
    return make_dns_resolver(base_.get(), {resolv_conf(), dns_.port, patience});
  }

  std::string resolv_conf() const { return folder_ / "resolv.conf"; }
  void ask_at(const FakeDns& server) const {
    std::ofstream(resolv_conf()) << "nameserver " << server.address << "\nsearch example\n";
  }

  Result<Resolved> look_up(const Lookup& lookup) {
    std::optional<Result<Resolved>> got;
    resolver_->look_up(lookup, [&](Result<Resolved> answer) { got = std::move(answer); });
    while (!got) event_base_loop(base_.get(), EVLOOP_ONCE);
    return *got;
  }
  Result<Resolved> host(const std::string& name) { return look_up({Lookup::Kind::kHost, name, 7}); }
  Result<Resolved> srv(const std::string& name) { return look_up({Lookup::Kind::kService, name}); }

  static std::vector<std::string> texts(const Result<Resolved>& answer) {
    std::vector<std::string> all;
    if (!answer) return {answer.error().message};
    for (const Address& address : answer->addresses) all.push_back(to_string(address));
    return all;
  }

  Base base_{event_base_new()};
  FakeDns dns_{base_.get()};
  std::filesystem::path folder_;
  std::unique_ptr<Resolver> resolver_;
};

TEST_F(DnsResolverTest, AHostHasAddressesOfBothKindsAndTheShortestTimeToLive) {
  dns_.set("kv.example",
           {{kA, 60, ipv4("10.0.0.2")}, {kA, 50, ipv4("10.0.0.1")}, {kAaaa, 40, ipv6("fd00::1")}});
  const auto answer = host("kv.example");
  EXPECT_THAT(texts(answer), ElementsAre("tcp:10.0.0.1:7", "tcp:10.0.0.2:7", "tcp:[fd00::1]:7"));
  EXPECT_EQ(answer->ttl, seconds(40));
}

TEST_F(DnsResolverTest, TheTimeToLiveOfAnAliasCounts) {
  dns_.set("kv.example",
           {{kCname, 5, labels("b.example")}, {kA, 60, ipv4("10.0.0.1"), labels("b.example")}});
  const auto answer = host("kv.example");
  EXPECT_THAT(texts(answer), ElementsAre("tcp:10.0.0.1:7"));
  EXPECT_EQ(answer->ttl, seconds(5));
}

TEST_F(DnsResolverTest, ASearchDomainCompletesANameWithoutDots) {
  dns_.set("kv.example", {{kA, 60, ipv4("10.0.0.1")}});
  EXPECT_THAT(texts(host("kv")), ElementsAre("tcp:10.0.0.1:7"));
}

TEST_F(DnsResolverTest, TheFileOfHostsNeedsNoServer) {
  EXPECT_THAT(texts(host("localhost")), testing::Contains("tcp:127.0.0.1:7"));
  EXPECT_EQ(dns_.queries, 0u);
}

TEST_F(DnsResolverTest, AServiceHasTheHostsOfTheLowestPriorityNumber) {
  dns_.set("_kv._tcp.example", {{kSrv, 30, service(1, 7001, "b.example")},
                                {kSrv, 30, service(1, 7002, "c.example")},
                                {kSrv, 30, service(2, 7003, "d.example")}});
  dns_.set("b.example", {{kA, 20, ipv4("10.0.0.1")}, {kAaaa, 60, ipv6("fd00::1")}});
  dns_.set("c.example", {{kA, 60, ipv4("10.0.0.1")}});
  dns_.set("d.example", {{kA, 60, ipv4("10.0.0.3")}});
  const auto answer = srv("_kv._tcp.example");
  EXPECT_THAT(texts(answer),
              ElementsAre("tcp:10.0.0.1:7001", "tcp:10.0.0.1:7002", "tcp:[fd00::1]:7001"));
  EXPECT_EQ(answer->ttl, seconds(20));
}

TEST_F(DnsResolverTest, SearchDomainsDoNotCompleteTheHostsOfAService) {
  dns_.set("_kv._tcp.example", {{kSrv, 30, service(1, 7001, "b")}});
  dns_.set("b.example", {{kA, 20, ipv4("10.0.0.1")}});
  EXPECT_THAT(texts(srv("_kv._tcp")), ElementsAre(HasSubstr("'b' has failed")));
}

TEST_F(DnsResolverTest, AServiceThatTheRecordsSayIsNotThereHasNoAddress) {
  dns_.set("_kv._tcp.example", {{kSrv, 30, service(0, 0, "")}});
  const auto answer = srv("_kv._tcp.example");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(dns_.queries, 1u);
}

TEST_F(DnsResolverTest, BoundsTheHostsOfAServiceAndAsksForEachOnce) {
  std::vector<Record> records = {{kSrv, 30, service(1, 2, "h0.e")}};
  for (int host = 0; host < 70; ++host) {
    records.push_back({kSrv, 30, service(1, 1, "h" + std::to_string(host) + ".e")});
  }
  dns_.set("_kv._tcp.example", records);
  dns_.set("h0.e", {{kA, 20, ipv4("10.0.0.1")}});
  EXPECT_THAT(texts(srv("_kv._tcp.example")), ElementsAre("tcp:10.0.0.1:1", "tcp:10.0.0.1:2"));
  EXPECT_EQ(dns_.queries, 2u + 2 * 64) << "the answer about the records needs TCP";
  EXPECT_EQ(dns_.queries_by_tcp, 1u);
}

TEST_F(DnsResolverTest, AHostWithoutAddressTakesNothingFromTheOthersOfAService) {
  dns_.set("_kv._tcp.example", {{kSrv, 30, service(1, 7001, "b.example")},
                                {kSrv, 10, service(1, 7002, "gone.example")}});
  dns_.set("b.example", {{kA, 20, ipv4("10.0.0.1")}});
  const auto answer = srv("_kv._tcp.example");
  EXPECT_THAT(texts(answer), ElementsAre("tcp:10.0.0.1:7001"));
  EXPECT_EQ(answer->ttl, seconds(10));
}

TEST_F(DnsResolverTest, AServiceWithAHostThatCannotBeLookedUpHasFailed) {
  dns_.set("_kv._tcp.example", {{kSrv, 30, service(1, 7001, "b.example")},
                                {kSrv, 10, service(1, 7002, "silent.example")}});
  dns_.set("b.example", {{kA, 20, ipv4("10.0.0.1")}});
  dns_.silent_about = "silent.example";
  resolver_ = resolver(milliseconds(20));
  const auto answer = srv("_kv._tcp.example");
  ASSERT_FALSE(answer) << "else silent.example would count as gone";
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
}

TEST_F(DnsResolverTest, AServiceWithAHostOfWhichOneKindCannotBeLookedUpHasTheOtherKind) {
  dns_.set("_kv._tcp.example", {{kSrv, 30, service(1, 7001, "b.example")}});
  dns_.set("b.example", {{kA, 20, ipv4("10.0.0.1")}});
  dns_.silent_about_ipv6 = true;
  resolver_ = resolver(milliseconds(20));
  EXPECT_THAT(texts(srv("_kv._tcp.example")), ElementsAre("tcp:10.0.0.1:7001"));
}

TEST_F(DnsResolverTest, CanBeAskedToWaitWithoutItsEventLoop) {
  dns_.set("kv.example", {{kA, 60, ipv4("10.0.0.1")}});
  std::optional<Result<Resolved>> got;
  resolver_->look_up({Lookup::Kind::kHost, "kv.example", 7},
                     [&](Result<Resolved> answer) { got = std::move(answer); });
  std::thread server([this] { dns_.answer_two(); });
  while (!got) resolver_->wait(seconds(10));
  server.join();
  EXPECT_THAT(texts(*got), ElementsAre("tcp:10.0.0.1:7"));
}

TEST_F(DnsResolverTest, FailuresSayWhichNameAndWhy) {
  dns_.set("mail.example", {{15, 60, "not an address"}});
  dns_.set("_kv._tcp.example", {{kSrv, 30, service(1, 7001, "gone.example")}});
  struct Row {
    Lookup lookup;
    ErrorCode code;
    std::string text;
  };
  const Row rows[] = {
      {{Lookup::Kind::kHost, "gone.example", 7}, ErrorCode::kNotFound, "'gone.example' has failed"},
      {{Lookup::Kind::kHost, "mail.example", 7}, ErrorCode::kNotFound, "'mail.example' has failed"},
      {{Lookup::Kind::kService, "_no._tcp.example"}, ErrorCode::kNotFound, "'_no._tcp.example'"},
      {{Lookup::Kind::kService, "_kv._tcp.example"}, ErrorCode::kNotFound, "'gone.example'"},
  };
  for (const Row& row : rows) {
    const auto answer = look_up(row.lookup);
    ASSERT_FALSE(answer) << row.text;
    EXPECT_EQ(answer.error().code, row.code) << answer.error().message;
    EXPECT_THAT(answer.error().message, HasSubstr(row.text));
  }
}

TEST_F(DnsResolverTest, AnswersThatEndTooEarlyAreErrors) {
  dns_.set("_kv._tcp.example", {{kSrv, 30, service(1, 7001, "b.example")}});
  dns_.set("b.example", {{kA, 20, ipv4("10.0.0.1")}});
  resolver_ = resolver(milliseconds(20));  // the resolver ignores answers to no question
  for (const size_t cut : {1u, 4u, 20u}) {
    dns_.cut = cut;
    EXPECT_FALSE(srv("_kv._tcp.example")) << cut;
    EXPECT_FALSE(host("b.example")) << cut;
  }
}

TEST_F(DnsResolverTest, AServerThatDoesNotAnswerIsAnErrorAfterItsTimeOut) {
  dns_.is_silent = true;
  resolver_ = resolver(milliseconds(20));
  const auto answer = host("kv.example");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
}

TEST_F(DnsResolverTest, AChangedResolvConfIsUsedForTheNextLookup) {
  dns_.set("kv.example", {{kA, 60, ipv4("10.0.0.1")}});
  FakeDns other(base_.get(), "127.0.0.2", dns_.port);
  other.set("kv.example", {{kA, 60, ipv4("10.0.0.2")}});
  EXPECT_THAT(texts(host("kv.example")), ElementsAre("tcp:10.0.0.1:7"));
  std::filesystem::remove(resolv_conf());
  ask_at(other);
  EXPECT_THAT(texts(host("kv.example")), ElementsAre("tcp:10.0.0.2:7"));
}

TEST_F(DnsResolverTest, AChangedResolvConfEndsLookupsThatRun) {
  dns_.is_silent = true;
  FakeDns other(base_.get(), "127.0.0.2", dns_.port);
  other.set("kv.example", {{kA, 60, ipv4("10.0.0.2")}});
  std::string error;
  resolver_->look_up({Lookup::Kind::kHost, "b.example", 7},
                     [&](const auto& answer) { error = answer.error().message; });
  event_base_loop(base_.get(), EVLOOP_NONBLOCK);
  std::filesystem::remove(resolv_conf());
  ask_at(other);
  EXPECT_THAT(texts(host("kv.example")), ElementsAre("tcp:10.0.0.2:7"));
  EXPECT_THAT(error, HasSubstr("'b.example' has failed"));
}

TEST_F(DnsResolverTest, AChangedResolvConfMakesNoAnswerOfAHalf) {
  dns_.set("b.example", {{kA, 60, ipv4("10.0.0.1")}});
  dns_.silent_about_ipv6 = true;
  std::optional<Result<Resolved>> got;
  resolver_->look_up({Lookup::Kind::kHost, "b.example", 7},
                     [&](Result<Resolved> answer) { got = std::move(answer); });
  while (dns_.queries < 2) event_base_loop(base_.get(), EVLOOP_ONCE);
  event_base_loop(base_.get(), EVLOOP_NONBLOCK);
  ASSERT_FALSE(got);
  std::filesystem::remove(resolv_conf());
  FakeDns other(base_.get(), "127.0.0.2", dns_.port);
  ask_at(other);
  EXPECT_FALSE(host("kv.example"));
  ASSERT_TRUE(got);
  ASSERT_FALSE(*got) << texts(*got)[0];
}

TEST_F(DnsResolverTest, ItsEndDropsTheLookupsThatRun) {
  dns_.is_silent = true;
  resolver_->look_up({Lookup::Kind::kHost, "kv.example", 7}, [](const auto&) { FAIL(); });
  resolver_->look_up({Lookup::Kind::kService, "kv.example"}, [](const auto&) { FAIL(); });
  resolver_.reset();
  event_base_loop(base_.get(), EVLOOP_NONBLOCK);
}

}  // namespace
}  // namespace hat
