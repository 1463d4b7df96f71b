// SPDX-License-Identifier: Apache-2.0
// daemon/tls/fake_tls_pair.h: two TLS streams for tests, each over a fake stream in memory; the
// test moves the bytes between them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "daemon/tls/tls_stream.h"
#include "tests/fake_reactor.h"

namespace hat {

// The user of one TLS stream: writes the texts that the test gives it, and records the bytes that
// it reads.
struct TlsEnd final : StreamEvents {
  void on_readable() override {
    std::array<std::byte, 4096> buffer;
    if (reads_seldom && (++events % 3) != 0) return;
    const IoResult result = stream->read(buffer);
    if (result.kind == IoResult::Kind::kOk) {
      heard.append(reinterpret_cast<const char*>(buffer.data()), result.bytes);
    } else if (result.kind != IoResult::Kind::kWouldBlock) {
      stop(result);
    }
  }
  void on_writable() override {
    stream->want_write(false);
    say("");
  }
  void say(const std::string& text) {
    unsaid += text;
    while (!unsaid.empty() && error.empty()) {
      const iovec all{unsaid.data(), unsaid.size()};
      const IoResult result = stream->write({&all, 1});
      if (result.kind == IoResult::Kind::kWouldBlock) return stream->want_write(true);
      if (result.kind != IoResult::Kind::kOk) return stop(result);
      unsaid.erase(0, result.bytes);
    }
  }
  void stop(const IoResult& result) {
    stream->want_read(false);
    stream->want_write(false);
    ended = result.kind == IoResult::Kind::kEnd;
    error = ended ? "the end" : stream->error_text(result.error);
  }
  uint64_t failures(TlsFailure failure) const {
    return counters.failures[static_cast<size_t>(failure)].value();
  }

  std::string heard;
  std::string unsaid;
  std::string error;
  bool ended = false;
  bool reads_seldom = false;  // if true, reads only on every third event
  int events = 0;
  TlsCounters counters;
  std::shared_ptr<FakeStream::Wire> wire = std::make_shared<FakeStream::Wire>();
  std::unique_ptr<TlsStream> stream;
};

class TlsPair {
 public:
  // Begins both handshakes. A null connection creates no stream: the test itself then acts as that
  // end.
  TlsPair(OwnedSsl initiates, OwnedSsl accepts, std::span<const std::string> initiator_allows = {},
          std::span<const std::string> acceptor_allows = {},
          uint64_t records_per_key = TlsStream::kRecordsPerKey, HandshakeTurns* turns = nullptr) {
    begin(initiator, std::move(initiates), TlsStream::Role::kInitiator, initiator_allows,
          records_per_key, nullptr);
    begin(acceptor, std::move(accepts), TlsStream::Role::kAcceptor, acceptor_allows,
          records_per_key, turns);
  }

  // Moves bytes in both directions and calls the streams' events, until no bytes move any more.
  // Before each event, moves at most `bytes_at_once` bytes in one direction.
  void pump(size_t bytes_at_once = SIZE_MAX) {
    constexpr int kStepsMax = 1'000'000;
    int steps = 0;
    for (bool moved = true; moved;) {
      moved = move(initiator, acceptor, bytes_at_once);
      moved = move(acceptor, initiator, bytes_at_once) || moved;
      ASSERT_LT(++steps, kStepsMax) << "bytes never stop moving";
    }
  }

  // Destroys the stream of `end`. The other end first receives the bytes already sent, and then the
  // end of the stream.
  void hang_up(TlsEnd& end) {
    TlsEnd& other = &end == &initiator ? acceptor : initiator;
    end.stream.reset();
    other.wire->incoming += std::exchange(end.wire->written, "");
    other.wire->end = true;
    while (other.stream && other.wire->reading && !other.ended && other.error.empty()) {
      other.wire->notify_readable();
    }
    pump();
  }

  TlsEnd initiator;
  TlsEnd acceptor;

 private:
  static void begin(TlsEnd& end, OwnedSsl connection, TlsStream::Role role,
                    std::span<const std::string> allowed, uint64_t records_per_key,
                    HandshakeTurns* turns) {
    if (!connection) return;
    const TlsStream::Options options{
        role, {allowed.begin(), allowed.end()}, &end.counters, records_per_key, turns};
    end.stream = std::make_unique<TlsStream>(
        std::move(connection), options,
        [&end](StreamEvents& events) { return std::make_unique<FakeStream>(end.wire, events); },
        end);
    end.stream->want_read(true);
  }

  static bool move(TlsEnd& from, TlsEnd& to, size_t bytes_at_once) {
    bool moved = false;
    if (from.stream && from.wire->writing && from.wire->space != 0) {
      from.wire->events->on_writable();
      moved = true;
    }
    const std::string part = from.wire->written.substr(0, bytes_at_once);
    from.wire->written.erase(0, part.size());
    to.wire->incoming += part;
    if (to.stream && to.wire->reading && (!to.wire->incoming.empty() || to.wire->again)) {
      to.wire->notify_readable();
      moved = true;
    }
    return moved || !part.empty();
  }
};

}  // namespace hat
