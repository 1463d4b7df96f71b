// SPDX-License-Identifier: Apache-2.0
// daemon/tls/tls_stream.h: TLS 1.3 over another byte stream of the reactor, the *inner stream*.
//
// RecordTransport carries the TLS records between OpenSSL and the inner stream. libevent's own TLS
// (its bufferevents) is not used, because it would add a second layer of buffers, reads and
// callbacks to the reactor's.
//
//   kHandshake ──▶ kOpen        both sides have proved their identities, and are allowed
//    ▲  │└───────▶ kFailed ◀─┘  read() and write() fail, and error_text() says why
//    │  ▼
//   kWaits                      waits for its turn (handshake_turns.h), and reads nothing meanwhile
//
// If write() accepts only a part of the bytes, the next write() must begin with the rest, and may
// append further bytes. OpenSSL requires this; the lanes in engine/link/tcp_lane.h do it.
//
// After write() has accepted bytes, the user need not call the stream again for them: the stream
// sends them when the inner stream has space.
//
// Bounds   A stream holds at most 64 KiB and one record in each direction, and 32 KiB of the peer's
//          certificates.
// Thread   Only the reactor's thread uses this class.
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
  // records under one key (RFC 8446, 5.5); the stream changes earlier.
  static constexpr uint64_t kRecordsPerKey = 1 << 22;

  struct Options {
    Role role = Role::kInitiator;
    // Rules for the names in the peer's certificate (config/identity.h): at least one rule must
    // match a name. If there are no rules, every certificate that the CA has signed is allowed.
    std::vector<std::string> allowed;
    TlsCounters* counters = nullptr;  // must outlive the stream
    uint64_t records_per_key = kRecordsPerKey;
    HandshakeTurns* turns = nullptr;  // if null, the handshake never waits for a turn
    // The stream adds itself to this set, and removes itself when it is destroyed; may be null.
    std::unordered_set<TlsStream*>* all = nullptr;
  };

  // Creates the inner stream with `open`. `connection` must be new, from
  // TlsContext::new_connection(). If `connection` is null (out of memory), the stream fails at
  // once.
  TlsStream(OwnedSsl connection, const Options& options, const engine::OpenStream& open,
            StreamEvents& events);
  ~TlsStream() override;

  // Fails the stream if `context` revokes the peer's certificate: now, if the handshake is complete
  // (the next on_readable() then reports the error), or else when the handshake completes.
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
  // Why a further read() can have a result even if no bytes arrive on the inner stream.
  enum class Pending : uint8_t {
    kNothing,
    kBytes,  // OpenSSL holds decrypted bytes
    kSpace,  // OpenSSL must send an answer first; read() continues once there is space
  };

  void on_readable() override;
  void on_writable() override;
  void on_turn() override { on_readable(); }

  // Continues the handshake. Returns nullopt if the handshake is complete; otherwise returns the
  // result that read() and write() must return.
  std::optional<IoResult> shake_hands();
  int step();
  void change_to(State next);
  bool is_in_handshake() const { return state_ == State::kHandshake || state_ == State::kWaits; }
  bool still_shaking_hands();
  void come_open();
  // Returns the result for read() or write() when their call of OpenSSL did not succeed. Only for
  // use after the handshake.
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
  bool reads_ = false;  // the events that this stream's user wants: want_read() and want_write()
  bool writes_ = false;
  Pending pending_ = Pending::kNothing;
  bool heard_data_ = false;  // the peer has sent data, which shows that it accepted this side's
                             // certificate
  uint64_t records_ = 0;     // records written with the current key
  std::shared_ptr<const TlsContext> newer_;  // checks the peer's certificate when the handshake
                                             // completes
  std::string error_;                        // why the stream is in kFailed
  std::vector<std::string> names_;           // the names in the peer's certificate
  OwnedSsl ssl_;
  // Declared last, so that it is destroyed first: no event can then reach a half-destroyed stream.
  RecordTransport transport_;
};

}  // namespace hat
