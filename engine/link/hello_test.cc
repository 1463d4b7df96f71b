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

// A session at one end of a link, and the bytes that it writes.
struct End final : SessionEvents {
  End(Session::Role role) : accepts(role == Session::Role::kAcceptor) {
    session = std::make_unique<Session>(
        reactor, role,
        SessionOptions{.node = "host-b",
                       .peer = accepts ? "" : "host-a",
                       .cores = {28, 14},
                       .handshake_timeout = std::chrono::seconds(1)},
        [this](StreamEvents& stream) {
          return reactor.connect(*parse_address("tcp:127.0.0.1:9465"), stream);
        },
        *this);
  }

  // Gives the session the peer's hello.
  void take(uint16_t version_max, std::optional<CoreCounts> cores = std::nullopt) {
    const auto from = encode({.version_max = version_max,
                              .node = "host-a",
                              .peer = accepts ? "host-b" : "",
                              .cores = cores});
    const FrameHeader header{.payload_bytes = static_cast<uint32_t>(from.size()),
                             .kind = FrameKind::kHello};
    FakeStream::Wire& wire = *reactor.wires.back();
    wire.incoming.assign(reinterpret_cast<const char*>(&header), sizeof header);
    wire.incoming.append(reinterpret_cast<const char*>(from.data()), from.size());
    wire.notify_readable();
  }

  // Returns the hello that the session has written.
  Hello written() {
    session->lane().flush();
    const auto& bytes = reactor.wires.back()->written;
    const auto decoded = decode_hello(std::as_bytes(std::span(bytes)).subspan(sizeof(FrameHeader)));
    EXPECT_TRUE(decoded) << decoded.error().message;
    return decoded.value_or(Hello{});
  }

  Result<void> on_hello(Session&) override { return {}; }
  void on_session_up(Session&) override { up = true; }
  void on_frame(Session&, const FrameHeader&, Bytes) override {}
  void on_session_down(Session&, const std::string&) override {}

  const bool accepts;
  bool up = false;
  FakeReactor reactor;
  std::unique_ptr<Session> session;
};

TEST(Hello, HasTheAcceptorsCoresIfTheInitiatorKnowsThem) {
  End acceptor(Session::Role::kAcceptor);
  acceptor.take(kLinkVersionOfCores);
  EXPECT_EQ(acceptor.written().cores, (CoreCounts{28, 14}));
  End older(Session::Role::kAcceptor);
  older.take(kLinkVersionOfCores - 1);
  EXPECT_EQ(older.written().cores, std::nullopt)
      << "a peer of an older version refuses a longer hello";
  EXPECT_EQ(End(Session::Role::kInitiator).written().cores, std::nullopt)
      << "the initiator does not know the acceptor's version yet";
}

TEST(Hello, WithImpossibleCoresLeadsToALinkWithoutThem) {
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
    End initiator(Session::Role::kInitiator);
    initiator.take(kLinkVersion, cores);
    EXPECT_TRUE(initiator.up) << cores.cores << " " << cores.nic_cores;
    EXPECT_EQ(initiator.session->peer().cores, possible ? std::optional(cores) : std::nullopt);
  }
}

TEST(Hello, OfAnInitiatorIsTakenWithoutItsCores) {
  End acceptor(Session::Role::kAcceptor);
  acceptor.take(kLinkVersion, CoreCounts{8, 8});
  EXPECT_TRUE(acceptor.up);
  EXPECT_EQ(acceptor.session->peer().cores, std::nullopt);
}

}  // namespace
}  // namespace hat::engine
