// SPDX-License-Identifier: Apache-2.0
// daemon/tls/tls_stream.h: TLS 1.3 over another byte stream of the reactor, the inner stream.
//
// RecordTransport carries the records between OpenSSL and the inner stream. The reactor, its
// sockets and its iterations therefore stay as they are. (libevent's bufferevents would add their
// own buffers, reads and callbacks to the reactor's.)
//
//   kHandshake ──▶ kOpen        both sides have proved their identities, and are allowed
//    ▲  │└───────▶ kFailed ◀─┘  read() and write() fail, and error_text() says why
//    │  ▼
//   kWaits                      waits for its turn (handshake_turns.h), and reads nothing meanwhile
//
// If write() does not accept all bytes, the caller must offer the rest again first, and may append
// further bytes. OpenSSL requires this; engine/link/tcp_lane.h does it.
//
// The stream sends the bytes that write() has accepted without further calls: it waits itself until
// the inner stream has space.
//
// Bounds   64 KiB and a record each way, and 32 KiB of the other side's certificates.
// Thread   the reactor's.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/reactor.h"
#include "daemon/metrics/counters.h"
#include "daemon/tls/handshake_turns.h"
#include "daemon/tls/openssl.h"
#include "daemon/tls/record_transport.h"
#include "daemon/tls/tls_context.h"
#include "engine/link/seal.h"

namespace hat {

class TlsStream final : public ByteStream, private StreamEvents, private HandshakeTurns::Waiter {
 public:
  enum class Role : uint8_t { kInitiator, kAcceptor };

  // The number of records after which the stream changes its key. AES-GCM is safe for 2^24.5 full
  // records under one key (RFC 8446 5.5), so the change is early.
  static constexpr uint64_t kRecordsPerKey = 1 << 22;

  struct Options {
    Role role = Role::kInitiator;
    // The rules of which one must match the other side's names (config/identity.h). If there are
    // none, every certificate of the CA is allowed. They must outlive the stream.
    std::span<const std::string> allowed;
    TlsCounters* counters = nullptr;  // must outlive the stream
    uint64_t records_per_key = kRecordsPerKey;
    HandshakeTurns* turns = nullptr;  // if null, the handshake does not wait for turns
    // A set that contains the stream while the stream lives; may be null.
    std::unordered_set<TlsStream*>* all = nullptr;
  };

  // Creates the inner stream with `open`. `connection` is new, from TlsContext::new_connection().
  // If it is null (out of memory), the stream fails at once.
  TlsStream(OwnedSsl connection, const Options& options, const engine::OpenStream& open,
            StreamEvents& events);
  ~TlsStream() override;

  // Fails the stream if `context` revokes the other side's certificate: at once if the handshake is
  // over (the next on_readable() shows it), otherwise when the handshake ends.
  void fail_if_revoked(std::shared_ptr<const TlsContext> context);

  IoResult read(std::span<std::byte> into) override;
  IoResult write(std::span<const iovec> from) override;
  void shutdown_write() override;
  void want_read(bool wanted) override;
  void want_write(bool wanted) override;
  void read_again() override { transport_.read_again(); }
  void abort_on_close() override { transport_.abort_on_close(); }
  std::string error_text(int error) const override;
  bool all_sent() const override { return transport_.all_sent(); }
  std::span<const std::string> peer_names() const override {
    if (state_ != State::kOpen) return {};
    return names_;
  }

 private:
  enum class State : uint8_t { kHandshake, kWaits, kOpen, kFailed };
  // The work that the last read() has left. No event of the inner stream announces it.
  enum class Pending : uint8_t {
    kNothing,
    kBytes,  // opened bytes in OpenSSL
    kSpace,  // OpenSSL needs space for an answer; read() continues once records were sent
  };

  void on_readable() override;
  void on_writable() override;
  void on_turn() override { on_readable(); }

  // Continues the handshake. Returns the result for read() and write() if the handshake is not
  // complete or has failed; returns nullopt if the stream is open.
  std::optional<IoResult> shake_hands();
  int step();
  void change_to(State next);
  bool is_in_handshake() const { return state_ == State::kHandshake || state_ == State::kWaits; }
  bool still_shaking_hands();
  void come_open();
  // Returns the result for an OpenSSL operation that did not succeed after the handshake.
  IoResult stopped();
  IoResult fail_handshake();
  IoResult fail_verification();
  IoResult fail_revoked();
  void say_that_this_is_tls();
  IoResult fail_with(TlsFailure failure, const std::string& text);
  void update_wants();
  void change_key_in_time();

  static int on_certificate(int good, X509_STORE_CTX* chain);
  bool allows(X509& certificate);

  const Options options_;
  StreamEvents& events_;
  State state_ = State::kHandshake;
  bool reads_ = false;  // want_read() and want_write() of this stream
  bool writes_ = false;
  Pending pending_ = Pending::kNothing;
  bool heard_data_ = false;  // the other side has sent data, so it has accepted this side
  uint64_t records_ = 0;     // records written under the current key
  std::shared_ptr<const TlsContext> newer_;  // checks the certificate when the handshake ends
  std::string error_;                        // the reason for kFailed
  std::vector<std::string> names_;           // the names in the other side's certificate
  OwnedSsl ssl_;
  // The last member, so that it is destroyed first: no event then reaches a half-destroyed object.
  RecordTransport transport_;
};

}  // namespace hat
