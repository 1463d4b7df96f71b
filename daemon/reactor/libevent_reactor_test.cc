// SPDX-License-Identifier: Apache-2.0
#include "daemon/reactor/libevent_reactor.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <future>
#include <optional>
#include <thread>

#include "client/ring/channel.h"
#include "client/ring/socket.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

// Writes back the bytes that it reads, and closes the stream at its end.
struct Echo final : StreamEvents {
  void on_readable() override {
    std::array<std::byte, 64> buffer;
    const IoResult result = stream->read(buffer);
    if (result.kind == IoResult::Kind::kOk) {
      const iovec same{buffer.data(), result.bytes};
      stream->write({&same, 1});
    } else if (result.kind != IoResult::Kind::kWouldBlock) {
      stream.reset();
    }
  }
  void on_writable() override { ++writable; }
  void on_half_free() override { ++half_free; }
  std::unique_ptr<ByteStream> stream;
  int writable = 0;   // how often on_writable() was called
  int half_free = 0;  // how often on_half_free() was called
};

struct EchoListener final : ListenerEvents {
  void on_connection(const Accept& accept) override {
    echo.stream = accept(echo);
    echo.stream->want_read(true);
  }
  Echo echo;
};

struct Caller final : StreamEvents {
  explicit Caller(LibeventReactor& its_reactor) : reactor(its_reactor) {}
  void on_writable() override {
    stream->want_write(false);
    std::string hello = "hello";
    const iovec one{hello.data(), hello.size()};
    const IoResult result = stream->write({&one, 1});
    error = result.error;
    if (result.kind == IoResult::Kind::kError) return reactor.stop();
    stream->shutdown_write();
  }
  void on_readable() override {
    std::array<std::byte, 64> buffer;
    const IoResult result = stream->read(buffer);
    if (result.kind == IoResult::Kind::kOk) {
      answer.append(reinterpret_cast<char*>(buffer.data()), result.bytes);
    } else if (result.kind != IoResult::Kind::kWouldBlock) {
      error = result.error;
      reactor.stop();
    }
  }
  LibeventReactor& reactor;
  std::unique_ptr<ByteStream> stream;
  std::string answer;
  int error = 0;
};

void call(LibeventReactor& reactor, const Address& address, Caller& caller) {
  caller.stream = reactor.connect(address, caller);
  caller.stream->want_write(true);
  caller.stream->want_read(true);
  const auto guard = reactor.timer([&] {
    ADD_FAILURE() << "nothing happened";
    reactor.stop();
  });
  guard->set(reactor.now() + 5s);
  reactor.run();
}

TEST(LibeventReactor, CarriesBytesAndHalfCloseOverTcpAndUnix) {
  const std::string path = "/tmp/hat_reactor_test_" + std::to_string(getpid());
  for (const std::string& text : {std::string("tcp:127.0.0.1:0"), "unix:" + path}) {
    LibeventReactor reactor;
    auto socket = ListenSocket::open(*parse_address(text));
    ASSERT_TRUE(socket) << socket.error().message;
    EchoListener events;
    const auto listener = reactor.listen(*socket, events);
    Caller caller(reactor);
    call(reactor, socket->address(), caller);
    EXPECT_EQ(caller.answer, "hello") << text;
    EXPECT_EQ(caller.error, 0) << text;
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "the socket's path was left behind";
}

// Calls read_again() instead of reading, and stops the reactor at the third on_readable().
struct Hesitant final : StreamEvents {
  explicit Hesitant(LibeventReactor& its_reactor) : reactor(its_reactor) {}
  void on_writable() override {
    stream->want_write(false);
    std::string hello = "hello";
    const iovec one{hello.data(), hello.size()};
    stream->write({&one, 1});
    stream->read_again();
    reactor.post([this] { ++turns; });
  }
  void on_readable() override {
    if (++events == 3) return reactor.stop();
    stream->read_again();
    reactor.post([this] { ++turns; });
  }
  LibeventReactor& reactor;
  std::unique_ptr<ByteStream> stream;
  int events = 0;
  int turns = 0;
};

// The host of a silent connection may have vanished; only a keepalive probe of the kernel shows it.
TEST(LibeventReactor, HasTheKernelProbeSilentTcpConnections) {
  for (const int seconds : {0, 90}) {
    LibeventReactor reactor;
    reactor.probe_tcp_after(std::chrono::seconds(seconds));
    auto socket = ListenSocket::open({Address::Kind::kTcp, "127.0.0.1", 0, ""});
    ASSERT_TRUE(socket) << socket.error().message;
    EchoListener echo;
    const auto listener = reactor.listen(*socket, echo);
    Echo caller;  // Echo sends only what it receives, so this connection is silent
    caller.stream = reactor.connect(socket->address(), caller);
    while (!echo.echo.stream) reactor.iterate();
    caller.stream->read({});  // makes the stream notice that it is connected
    for (ByteStream* stream : {caller.stream.get(), echo.echo.stream.get()}) {
      const auto descriptors = stream->descriptors();
      ASSERT_EQ(descriptors.size(), 1u);
      int on = -1, idle = -1;
      socklen_t size = sizeof on;
      ASSERT_EQ(getsockopt(descriptors[0], SOL_SOCKET, SO_KEEPALIVE, &on, &size), 0);
      EXPECT_EQ(on, seconds == 0 ? 0 : 1);
      ASSERT_EQ(getsockopt(descriptors[0], IPPROTO_TCP, TCP_KEEPIDLE, &idle, &size), 0);
      EXPECT_EQ(idle == seconds, seconds != 0);
    }
  }
}

TEST(LibeventReactor, ReportsAgainInALaterLookThoughNothingNewHasCome) {
  LibeventReactor reactor;
  auto silent = ListenSocket::open(*parse_address("tcp:127.0.0.1:0"));
  ASSERT_TRUE(silent) << silent.error().message;
  Hesitant reader(reactor);
  reader.stream = reactor.connect(silent->address(), reader);
  reader.stream->want_write(true);
  reactor.run();
  EXPECT_EQ(reader.events, 3);
  EXPECT_EQ(reader.turns, 3) << "two events in one iteration";
}

TEST(LibeventReactor, ReportsToNobodyWhoHasGone) {
  LibeventReactor reactor;
  auto silent = ListenSocket::open(*parse_address("tcp:127.0.0.1:0"));
  ASSERT_TRUE(silent) << silent.error().message;
  Hesitant gone(reactor);
  gone.stream = reactor.connect(silent->address(), gone);
  gone.stream->read_again();
  gone.stream.reset();
  Hesitant unwilling(reactor);
  unwilling.stream = reactor.connect(silent->address(), unwilling);
  unwilling.stream->read_again();
  unwilling.stream->want_read(false);
  reactor.post([&] { reactor.stop(); });
  reactor.run();
  EXPECT_EQ(gone.events, 0);
  EXPECT_EQ(unwilling.events, 0);
}

TEST(LibeventReactor, ReportsARefusedConnectByAnError) {
  LibeventReactor reactor;
  Address closed;
  {
    auto socket = ListenSocket::open(*parse_address("tcp:127.0.0.1:0"));
    ASSERT_TRUE(socket);
    closed = socket->address();
  }
  Caller caller(reactor);
  call(reactor, closed, caller);
  EXPECT_EQ(caller.error, ECONNREFUSED);
}

TEST(LibeventReactor, RunsWhatAnotherThreadPosts) {
  LibeventReactor reactor;
  int ran = 0;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) reactor.post([&] { ++ran; });
    reactor.stop();
  });
  reactor.run();
  other.join();
  EXPECT_EQ(ran, 100);
}

TEST(LibeventReactor, ReadsTheClockAgainForWhatComesLaterInATurn) {
  LibeventReactor reactor;
  TimePoint first;
  TimePoint later;
  reactor.post([&] {
    first = reactor.now();
    reactor.post([&] {
      later = reactor.now();
      reactor.stop();
    });
    std::this_thread::sleep_for(2ms);
  });
  reactor.run();
  EXPECT_GE(later - first, 2ms);
}

// Continues a ring connection in a second reactor, as the successor does in a takeover. The
// application must see one uninterrupted connection.
TEST(LibeventReactor, GoesOnWithRingsThatAnotherHad) {
  constexpr int kPatienceMs = 20'000;
  const std::string path = testing::TempDir() + "resume-" + std::to_string(getpid()) + ".ring";
  const auto socket = ListenSocket::open({Address::Kind::kShm, "", 0, path});
  ASSERT_TRUE(socket) << socket.error().message;
  auto old = std::make_unique<LibeventReactor>();
  LibeventReactor young;
  EchoListener echo;
  auto listener = old->listen(*socket, echo);
  std::promise<void> nobody_serves;
  std::promise<void> said;
  std::thread application([&] {
    std::unique_ptr<hatrpc::ring::Socket> rings;
    std::array<char, 3> heard{};
    ASSERT_EQ(hatrpc::ring::Socket::connect(path.c_str(), kPatienceMs, rings), 0);
    const std::string page(4096, 'p');  // after a page of bytes, both sides rewind their rings
    EXPECT_EQ(rings->write_all(page.data(), page.size(), kPatienceMs), 0);
    for (ssize_t came = 0; came < 4096;) {
      std::array<char, 4096> part{};
      came += rings->read(part.data(), part.size(), kPatienceMs);
    }
    EXPECT_EQ(rings->write_all("one", 3, kPatienceMs), 0);
    EXPECT_EQ(rings->read(heard.data(), heard.size(), kPatienceMs), 3);
    old->stop();
    nobody_serves.get_future().wait();
    EXPECT_EQ(rings->write_all("two", 3, kPatienceMs), 0);
    said.set_value();
    EXPECT_EQ(rings->read(heard.data(), heard.size(), kPatienceMs), 3);
    EXPECT_EQ(std::string(heard.data(), heard.size()), "two");
    rings.reset();
    young.stop();
  });
  old->run();
  const auto descriptors = echo.echo.stream->descriptors();
  ASSERT_EQ(descriptors.size(), 2u);
  Descriptor connection(dup(descriptors[0]));
  hatrpc::ring::Memory memory;
  ASSERT_EQ(hatrpc::ring::Memory::map(dup(descriptors[1]), memory), 0);
  echo.echo.stream.reset();
  listener.reset();
  old.reset();
  nobody_serves.set_value();
  said.get_future().wait();
  echo.echo.stream = young.resume_accepted(std::move(connection), std::move(memory), echo.echo);
  echo.echo.stream->want_read(true);
  young.run();
  application.join();
  echo.echo.stream.reset();
}

// A ring connection that `reactor` continues on the acceptor's side. This object is the connector.
struct RingEnd {
  explicit RingEnd(LibeventReactor& reactor) {
    int sockets[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    hatrpc::ring::Memory memory;
    hatrpc::ring::Memory same;
    EXPECT_EQ(hatrpc::ring::Memory::create(hatrpc::ring::kRingBytesMin, memory), 0);
    EXPECT_EQ(hatrpc::ring::Memory::map(dup(memory.fd()), same), 0);
    side.emplace(sockets[0], std::move(same), hatrpc::ring::Side::kConnector);
    echo.stream = reactor.resume_accepted(Descriptor(sockets[1]), std::move(memory), echo);
    echo.stream->want_read(true);
  }
  // Returns the bits of the doorbells for which the reactor has asked.
  uint32_t asked() const {
    return side->memory()->control().sides[size_t{1}].waits.load(std::memory_order_relaxed);
  }
  std::optional<hatrpc::ring::Channel> side;
  Echo echo;
};

TEST(LibeventReactor, AsksAllRingsForDoorbellsOnlyWhileItSleeps) {
  LibeventReactor reactor;
  RingEnd first(reactor);
  RingEnd second(reactor);
  bool is_over = false;
  const auto timer = reactor.timer([&] {
    EXPECT_EQ(first.asked(), hatrpc::ring::kForData);
    EXPECT_EQ(second.asked(), hatrpc::ring::kForData);
    is_over = true;
  });
  timer->set(reactor.now() + 5ms);
  while (!is_over) reactor.iterate();
  EXPECT_EQ(first.asked() | second.asked(), 0u) << "the reactor polls both rings";

  const auto space = second.side->writable();
  std::memcpy(space.data(), "hello", 5);
  second.side->publish(5);
  reactor.iterate();
  EXPECT_EQ(second.side->readable().size(), 5u);
  EXPECT_EQ(second.side->hear(), 0u) << "neither side rang";
}

std::string text_in(hatrpc::ring::Channel& side) {
  const auto there = side.readable();
  std::string text(reinterpret_cast<const char*>(there.data()), there.size());
  side.consume(there.size());
  return text;
}

std::span<std::byte> reserve(ByteStream& stream, std::string_view text) {
  const auto space = stream.reserve(text.size());
  EXPECT_EQ(space.size(), text.size());
  std::memcpy(space.data(), text.data(), space.size());
  return space;
}

IoResult write(ByteStream& stream, std::span<const std::byte> bytes) {
  const iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  return stream.write({&part, 1});
}

TEST(LibeventReactor, WritesReservedBytesOfARingInTheirOrder) {
  LibeventReactor reactor;
  RingEnd end(reactor);
  ByteStream& stream = *end.echo.stream;
  const size_t ring_bytes = end.side->memory()->ring_bytes();
  // Begins shortly before the end of the ring, so that the reserved bytes cross it.
  const std::vector<std::byte> filler(ring_bytes - 4);
  ASSERT_EQ(write(stream, filler).bytes, filler.size());
  end.side->consume(filler.size() - 1);  // the last byte keeps the ring from being rewound

  const auto one = reserve(stream, "one ");
  end.side->consume(1);  // from now on, the reserved space does
  const auto two = reserve(stream, "two ");
  const auto three = reserve(stream, "three");
  EXPECT_TRUE(stream.reserve(ring_bytes).empty()) << "the ring has no space for so many bytes";
  EXPECT_TRUE(stream.descriptors().empty()) << "another process would not know of the space";
  const std::vector<std::byte> other(3, std::byte{'x'});
  EXPECT_EQ(write(stream, other).kind, IoResult::Kind::kWouldBlock);
  EXPECT_EQ(text_in(*end.side), "") << "reserved bytes are not written yet";

  EXPECT_EQ(write(stream, one).bytes, one.size());
  EXPECT_EQ(text_in(*end.side), "one ");
  stream.unreserve(two.data());
  const auto four = reserve(stream, ", four");
  EXPECT_EQ(write(stream, three).bytes, three.size());
  EXPECT_EQ(write(stream, four).bytes, four.size());
  EXPECT_EQ(write(stream, other).bytes, other.size());
  EXPECT_EQ(text_in(*end.side), "three, fourxxx");
  stream.unreserve(four.data());  // has no effect on space that was written
  EXPECT_FALSE(stream.descriptors().empty());
}

TEST(LibeventReactor, BreaksARingWhoseReaderTakesReservedSpaceBack) {
  LibeventReactor reactor;
  RingEnd end(reactor);
  ByteStream& stream = *end.echo.stream;
  const std::vector<std::byte> filler(100);
  ASSERT_EQ(write(stream, filler).bytes, filler.size());
  end.side->consume(filler.size());
  const auto space = stream.reserve(end.side->memory()->ring_bytes());
  ASSERT_FALSE(space.empty());
  end.side->memory()->control().sides[0].consumed.store(0);
  EXPECT_TRUE(stream.reserve(1).empty());
  const IoResult result = write(stream, space);
  EXPECT_EQ(result.kind, IoResult::Kind::kError);
  EXPECT_EQ(result.error, EPROTO);
  EXPECT_EQ(write(stream, filler).kind, IoResult::Kind::kError);
}

void iterate(LibeventReactor& reactor, int times) {
  for (int i = 0; i < times; ++i) {
    reactor.post([] {});  // otherwise the reactor would sleep
    reactor.iterate();
  }
}

TEST(LibeventReactor, WritesOnlyTheFirstOfSeveralReservedSpaces) {
  LibeventReactor reactor;
  RingEnd end(reactor);
  ByteStream& stream = *end.echo.stream;
  const auto one = reserve(stream, "one ");
  const auto two = reserve(stream, "two");
  EXPECT_EQ(write(stream, two).kind, IoResult::Kind::kWouldBlock);
  EXPECT_EQ(text_in(*end.side), "") << "\"one \" can still be on its way to the first space";
  EXPECT_EQ(write(stream, one).kind, IoResult::Kind::kOk);
  EXPECT_EQ(write(stream, two).kind, IoResult::Kind::kOk);
  EXPECT_EQ(text_in(*end.side), "one two");
  EXPECT_FALSE(stream.unreserve(two.data()));
}

TEST(LibeventReactor, ReportsOnceThatHalfOfARingIsFree) {
  LibeventReactor reactor;
  RingEnd end(reactor);
  ByteStream& stream = *end.echo.stream;
  const size_t ring_bytes = end.side->memory()->ring_bytes();
  EXPECT_EQ(stream.shortage(ring_bytes), 0u);
  const std::vector<std::byte> filler(ring_bytes - 100);
  ASSERT_EQ(write(stream, filler).bytes, filler.size());
  EXPECT_EQ(stream.shortage(50), 0u);
  EXPECT_EQ(stream.shortage(2 * ring_bytes), 0u) << "such a number can never fit";
  EXPECT_EQ(stream.shortage(ring_bytes), ring_bytes - 100);
  iterate(reactor, 3);
  EXPECT_EQ(end.echo.half_free, 0);

  // The reactor sleeps until the other side has read enough, and its doorbell rings.
  end.side->consume(100);
  std::thread application([&] {
    std::this_thread::sleep_for(100ms);
    end.side->consume(ring_bytes / 2 - 200);
    std::this_thread::sleep_for(20ms);
    end.side->consume(100);
  });
  const auto guard = reactor.timer([] { ADD_FAILURE() << "nothing was reported"; });
  guard->set(reactor.now() + 10s);
  while (end.echo.half_free == 0 && !testing::Test::HasFailure()) reactor.iterate();
  application.join();
  EXPECT_EQ(end.side->readable().size(), ring_bytes / 2 - 100);
  iterate(reactor, 3);
  EXPECT_EQ(end.echo.half_free, 1);

  EXPECT_EQ(stream.shortage(ring_bytes), ring_bytes / 2 - 100);
  iterate(reactor, 3);
  EXPECT_EQ(end.echo.half_free, 1) << "half of the ring is free";
}

TEST(LibeventReactor, ReportsThatTheReaderOfAFullRingIsGone) {
  LibeventReactor reactor;
  RingEnd end(reactor);
  ByteStream& stream = *end.echo.stream;
  stream.want_read(false);
  const size_t ring_bytes = end.side->memory()->ring_bytes();
  const std::vector<std::byte> filler(ring_bytes);
  ASSERT_EQ(write(stream, filler).bytes, filler.size());
  EXPECT_EQ(stream.shortage(ring_bytes), ring_bytes);
  end.side.reset();
  const auto guard = reactor.timer([] { ADD_FAILURE() << "nothing was reported"; });
  guard->set(reactor.now() + 10s);
  while (end.echo.half_free == 0 && !testing::Test::HasFailure()) reactor.iterate();
  EXPECT_EQ(stream.shortage(ring_bytes), 0u) << "the next write must find out";
  EXPECT_EQ(write(stream, filler).error, EPIPE);
}

TEST(LibeventReactor, CallsAWriterAgainWhenReservedSpaceIsGivenBack) {
  LibeventReactor reactor;
  RingEnd end(reactor);
  ByteStream& stream = *end.echo.stream;
  const auto space = reserve(stream, "never written");
  stream.want_write(true);
  iterate(reactor, 3);
  EXPECT_EQ(end.echo.writable, 0) << "no other bytes can be written";
  stream.unreserve(space.data());
  iterate(reactor, 1);
  EXPECT_GE(end.echo.writable, 1);
}

TEST(ListenSocket, ReplacesAStalePathButNotALivingOne) {
  const auto address = *parse_address("unix:/tmp/hat_listen_test_" + std::to_string(getpid()));
  auto first = ListenSocket::open(address);
  ASSERT_TRUE(first) << first.error().message;
  const auto second = ListenSocket::open(address);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, testing::HasSubstr("another process listens there"));
}

}  // namespace
}  // namespace hat
