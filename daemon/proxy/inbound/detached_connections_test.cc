// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/detached_connections.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include "daemon/proxy/fake_successor.h"

namespace hat {
namespace {

using engine::ConnectionToken;
using std::chrono::seconds;
using testing::ElementsAre;
using Names = std::vector<std::string>;

constexpr TimePoint kNow{std::chrono::hours(1)};

DetachedConnection connection(Names peer_names = {}) {
  DetachedConnection one{.service = "Kv",
                         .server = "tcp:127.0.0.1:9091",
                         .peer = "host-b",
                         .peer_names = std::move(peer_names),
                         .oneways = {7, ~uint64_t{0}}};
  one.descriptors.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return one;
}

bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

TEST(DetachedConnections, GivesEachOnceToItsToken) {
  DetachedConnections kept;
  const auto first = kept.keep(connection(), kNow);
  const auto second = kept.keep(connection(), kNow);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_FALSE(kept.claim(ConnectionToken{}, "host-b", {}));
  const auto claimed = kept.claim(*first, "host-b", {});
  ASSERT_TRUE(claimed);
  EXPECT_TRUE(is_open(claimed->descriptors[0].get()));
  EXPECT_FALSE(kept.claim(*first, "host-b", {}));
  EXPECT_EQ(kept.size(), 1u);
}

TEST(DetachedConnections, BelongToThePeerThatTheTokenWasGivenTo) {
  struct Case {
    const char* what;
    Names kept;
    std::string peer;
    Names names;
    bool may;
  };
  const std::vector<Case> cases = {
      {"the same, without TLS", {}, "host-b", {}, true},
      {"another node", {}, "host-c", {}, false},
      {"the same certificate", {"dns:b"}, "host-b", {"dns:b"}, true},
      {"its next certificate", {"dns:b", "dns:old"}, "host-b", {"dns:new", "dns:b"}, true},
      {"another certificate for the same name of a node", {"dns:b"}, "host-b", {"dns:c"}, false},
      {"no certificate any more", {"dns:b"}, "host-b", {}, false},
      {"a certificate where there was none", {}, "host-b", {"dns:b"}, false},
  };
  for (const Case& one : cases) {
    DetachedConnections kept;
    const auto token = kept.keep(connection(one.kept), kNow);
    EXPECT_EQ(kept.claim(*token, one.peer, one.names).has_value(), one.may) << one.what;
    EXPECT_EQ(kept.size(), one.may ? 0u : 1u) << one.what;
  }
}

TEST(DetachedConnections, ClosesWhatNobodyAskedForInTime) {
  DetachedConnections kept;
  DetachedConnection early = connection();
  const int descriptor = early.descriptors[0].get();
  (void)kept.keep(std::move(early), kNow);
  (void)kept.keep(connection(), kNow + seconds(1));
  kept.sweep(kNow + DetachedConnections::kKeepTime - seconds(1));
  EXPECT_TRUE(is_open(descriptor));
  kept.sweep(kNow + DetachedConnections::kKeepTime);
  EXPECT_FALSE(is_open(descriptor));
  EXPECT_EQ(kept.size(), 1u);
}

TEST(DetachedConnections, KeepsOnlySoMany) {
  DetachedConnections kept;
  size_t count = 0;
  while (kept.keep({.peer = "host-b"}, kNow)) ++count;
  EXPECT_EQ(count, DetachedConnections::kConnectionsOfPeerMax);
  while (kept.keep({.peer = "host-" + std::to_string(count)}, kNow)) ++count;
  EXPECT_EQ(count, DetachedConnections::kConnectionsMax);
  EXPECT_FALSE(kept.adopt({.token = {std::byte{1}}}, kNow));
  kept.sweep(kNow + DetachedConnections::kKeepTime);
  EXPECT_TRUE(kept.keep({.peer = "host-b"}, kNow));
}

TEST(DetachedConnections, TravelAsBytes) {
  DetachedConnection one = connection({"spiffe://x/b", "dns:b"});
  one.token[15] = std::byte{9};
  const std::vector<std::byte> bytes = encode(one);
  const auto read = decode_detached(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->token, one.token);
  EXPECT_EQ(read->service, one.service);
  EXPECT_EQ(read->server, one.server);
  EXPECT_EQ(read->peer, one.peer);
  EXPECT_EQ(read->peer_names, one.peer_names);
  EXPECT_EQ(read->oneways, one.oneways);
  EXPECT_TRUE(read->unchecked);
  one.unchecked = false;
  EXPECT_FALSE(decode_detached(encode(one))->unchecked);
  const size_t older = bytes.size() - sizeof(uint64_t);  // a build that did not send `unchecked`
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(decode_detached(std::span(bytes).first(size)).has_value(), size == older) << size;
  }
  EXPECT_TRUE(decode_detached(std::span(bytes).first(older))->unchecked);
  // Changes one byte at a time after the token, so that lengths and counts become too large, too.
  for (size_t at = sizeof one.token; at < bytes.size(); ++at) {
    std::vector<std::byte> wrong = bytes;
    wrong[at] = std::byte{0xff};
    (void)decode_detached(wrong);
  }
}

// --- To the successor ---

TEST(DetachedConnections, GoToTheSuccessorAtTheNextLook) {
  DetachedConnections kept;
  const auto before = kept.keep(connection(), kNow);
  const auto successor = std::make_shared<FakeSuccessor>();
  kept.give_to(successor);
  const auto after = kept.keep(connection(), kNow);
  const auto claimed = kept.keep(connection(), kNow);
  EXPECT_TRUE(kept.claim(*claimed, "host-b", {})) << "by a stream of this process";
  EXPECT_TRUE(kept.has_more_to_give());
  kept.sweep(kNow);
  EXPECT_THAT(successor->tokens, testing::UnorderedElementsAre(*before, *after));
  EXPECT_FALSE(kept.claim(*after, "host-b", {}));
  EXPECT_FALSE(kept.has_more_to_give());
}

TEST(DetachedConnections, WaitUntilTheSuccessorHasRoom) {
  DetachedConnections kept;
  const auto successor = std::make_shared<FakeSuccessor>();
  successor->answer = Successor::Answer::kLater;
  kept.give_to(successor);
  const auto token = kept.keep(connection(), kNow);
  kept.sweep(kNow);
  EXPECT_EQ(kept.size(), 1u);
  successor->answer = Successor::Answer::kTaken;
  kept.sweep(kNow);
  EXPECT_THAT(successor->tokens, ElementsAre(*token));
}

TEST(DetachedConnections, EndWhereTheSuccessorTakesNone) {
  DetachedConnections kept;
  const auto successor = std::make_shared<FakeSuccessor>();
  successor->answer = Successor::Answer::kNever;
  kept.give_to(successor);
  DetachedConnection one = connection();
  const int descriptor = one.descriptors[0].get();
  (void)kept.keep(std::move(one), kNow);
  kept.sweep(kNow);
  EXPECT_FALSE(is_open(descriptor)) << "its server hears of it at once";
}

}  // namespace
}  // namespace hat
