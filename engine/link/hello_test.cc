// SPDX-License-Identifier: Apache-2.0
#include "engine/link/hello.h"

#include <gmock/gmock.h>

#include "engine/link/session.h"
#include "tests/fake_reactor.h"

namespace hat::engine {
namespace {

using testing::HasSubstr;

TEST(Hello, ReadsWhatItWrites) {
  for (const Hello& hello : {
           Hello{1, 1, 0x1122334455667788, 0x3ff, "host-a", "host-b", std::nullopt},
           Hello{1, 7, 42, 0, "host-b", "", CoreCounts{28, 14}},
       }) {
    const auto bytes = encode(hello);
    const auto back = decode_hello(bytes);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, hello);
  }
}

TEST(Hello, RefusesEveryTruncationAndOtherVersions) {
  const auto bytes = encode({1, 1, 7, 0, "host-a", "host-b"});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_hello(Bytes(bytes).first(size))) << size;
  }
  const auto newer = static_cast<uint16_t>(kLinkVersion + 1);
  EXPECT_FALSE(decode_hello(encode({newer, newer, 7, 0, "host-a", "host-b"})));
  EXPECT_FALSE(decode_hello(encode({0, 0, 7, 0, "host-a", "host-b"})));
  EXPECT_TRUE(decode_hello(encode({1, 1, 7, 0, "host-a", "host-b"}))) << "older, and spoken with";
  EXPECT_FALSE(decode_hello(encode({1, 1, 7, 0, "", "host-b"})));
  EXPECT_TRUE(decode_hello(encode({0, 9, 7, 0, "host-a", "host-b"})));
  auto wrong = bytes;
  wrong[0] ^= std::byte{1};
  EXPECT_FALSE(decode_hello(wrong));
}

TEST(Hello, TakesOnlyCoresThatAHostCanHave) {
  struct Row {
    CoreCounts cores;
    bool possible;
  };
  for (const auto& [cores, possible] : {
           Row{{1, 1}, true},
           Row{{28, 14}, true},
           Row{{kCoresMax, kCoresMax}, true},
           Row{{0, 0}, false},
           Row{{8, 0}, false},
           Row{{8, 9}, false},
           Row{{kCoresMax + 1, 1}, false},
           Row{{UINT32_MAX, UINT32_MAX}, false},
       }) {
    const auto hello = decode_hello(encode({.node = "host-b", .cores = cores}));
    EXPECT_EQ(hello.has_value(), possible) << cores.cores << " " << cores.nic_cores;
    if (!possible) {
      EXPECT_THAT(hello.error().message, HasSubstr("which is not possible"));
    }
  }
}

TEST(Hello, TakesNoOtherBytesAfterItsNames) {
  for (size_t extra = 1; extra <= 64; ++extra) {
    if (extra == sizeof(CoreCounts)) continue;
    auto bytes = encode({.node = "host-b"});
    bytes.resize(bytes.size() + extra, std::byte{1});
    const auto hello = decode_hello(bytes);
    ASSERT_FALSE(hello) << extra;
    EXPECT_THAT(hello.error().message, HasSubstr(" bytes after its names, not 0 or 8"));
  }
}

// The hello that a session sends, as the acceptor of a link from a peer of `version_max`, or as the
// initiator of a link.
struct Sent final : SessionEvents {
  static Hello hello(Session::Role role, uint16_t version_max) {
    FakeReactor reactor;
    Sent events;
    const bool accepts = role == Session::Role::kAcceptor;
    Session session(
        reactor, role,
        {.node = "host-b",
         .peer = accepts ? "" : "host-a",
         .cores = {28, 14},
         .handshake_timeout = std::chrono::seconds(1)},
        [&](StreamEvents& stream) {
          return reactor.connect(*parse_address("tcp:127.0.0.1:9465"), stream);
        },
        events);
    FakeStream::Wire& wire = *reactor.wires.back();
    if (accepts) {
      const auto from = encode({.version_max = version_max, .node = "host-a", .peer = "host-b"});
      const FrameHeader header{.payload_bytes = static_cast<uint32_t>(from.size()),
                               .kind = FrameKind::kHello};
      wire.incoming.assign(reinterpret_cast<const char*>(&header), sizeof header);
      wire.incoming.append(reinterpret_cast<const char*>(from.data()), from.size());
      wire.notify_readable();
    }
    session.lane().flush();
    const auto bytes = std::as_bytes(std::span(wire.written)).subspan(sizeof(FrameHeader));
    const auto decoded = decode_hello(bytes);
    EXPECT_TRUE(decoded) << decoded.error().message;
    return decoded.value_or(Hello{});
  }

  Result<void> on_hello(Session&) override { return {}; }
  void on_session_up(Session&) override {}
  void on_frame(Session&, const FrameHeader&, Bytes) override {}
  void on_session_down(Session&, const std::string&) override {}
};

TEST(Hello, HasTheAcceptorsCoresIfTheInitiatorKnowsThem) {
  EXPECT_EQ(Sent::hello(Session::Role::kAcceptor, kLinkVersionOfCores).cores, (CoreCounts{28, 14}));
  EXPECT_EQ(Sent::hello(Session::Role::kAcceptor, kLinkVersionOfCores - 1).cores, std::nullopt)
      << "a peer of an older version refuses a longer hello";
  EXPECT_EQ(Sent::hello(Session::Role::kInitiator, kLinkVersion).cores, std::nullopt)
      << "the initiator does not know the acceptor's version yet";
}

}  // namespace
}  // namespace hat::engine
