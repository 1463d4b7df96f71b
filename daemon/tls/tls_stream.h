// SPDX-License-Identifier: Apache-2.0
// daemon/tls/tls_stream.h: a stream of the reactor's under TLS 1.3.
//
// OpenSSL reads the stream beneath, and writes what it has sealed, through a BIO of ours, so the
// reactor, its sockets and its turns stay as they are. (libevent's bufferevents would bring their
// own buffers, reads and callbacks beside the reactor's.) Sealed records gather before they are
// sent: a send for each 16 KiB would wake the other side as often.
//
//   kHandshake ──▶ kOpen        both sides have proved who they are, and are allowed
//    ▲  │└───────▶ kFailed ◀─┘  read() and write() fail, and error_text() says why
//    │  ▼
//   kWaits                      for its turn (handshake_turns.h): nothing is read meanwhile
//
// Whoever uses it offers what write() did not take again, with more behind it perhaps, as OpenSSL
// asks for; engine/link/tcp_lane.h does.
//
// What write() took is on its way by itself: the stream beneath is waited for here.
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
#include "daemon/tls/tls_context.h"
#include "engine/link/seal.h"

namespace hat {

class TlsStream final : public Stream, private StreamEvents, private HandshakeTurns::Waiter {
 public:
  enum class Role : uint8_t { kInitiator, kAcceptor };

  // AES-GCM is safe for 2^24.5 full records under one key (RFC 8446 5.5): a new one long before.
  static constexpr uint64_t kRecordsPerKey = 1 << 22;
  // So much is gathered, or read, at once.
  static constexpr size_t kBytesAtOnce = 64 * 1024;

  struct Options {
    Role role = Role::kInitiator;
    // Rules of which one must mean the other side (config/identity.h); none: whoever the CA vouches
    // for. They outlive the stream.
    std::span<const std::string> allowed;
    TlsCounters* counters = nullptr;  // outlive the stream
    uint64_t records_per_key = kRecordsPerKey;
    HandshakeTurns* turns = nullptr;  // null: it waits for none
    // Contains the stream while the stream lives; null: there is no such set.
    std::unordered_set<TlsStream*>* all = nullptr;
  };

  // `connection` is fresh, of a TlsContext; null: memory was short, and the stream fails at once.
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
  void read_again() override { stream_->read_again(); }
  void abort_on_close() override { stream_->abort_on_close(); }
  std::string error_text(int error) const override;
  bool all_sent() const override { return sealed_.empty(); }
  std::span<const std::string> peer_names() const override {
    if (state_ != State::kOpen) return {};
    return names_;
  }

 private:
  enum class State : uint8_t { kHandshake, kWaits, kOpen, kFailed };
  friend struct TlsStreamBio;

  void on_readable() override;
  void on_writable() override;
  void on_turn() override { on_readable(); }

  // What read() and write() say while the handshake is not over, or has failed; else nothing.
  std::optional<IoResult> shake_hands();
  int step();
  bool is_in_handshake() const { return state_ == State::kHandshake || state_ == State::kWaits; }
  bool still_shaking_hands();
  void come_open();
  // True: nothing is left. False: it waits for the stream beneath, or that has failed.
  bool send_sealed();
  // What an operation of OpenSSL that did not go through came to, once the handshake is over.
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
  bool reads_ = false;  // wanted of this stream
  bool writes_ = false;
  bool inner_reads_ = false;  // asked of the one beneath
  bool inner_writes_ = false;
  bool read_waits_ = false;    // for room to answer in: it goes on when the sealed are sent
  bool ends_ = false;          // the one beneath is to be shut down then
  bool shut_ = false;          // shutdown_write() was called
  bool keeps_ = false;         // the last read() left bytes in OpenSSL, of which no event tells
  bool drained_ = false;       // that one gave less than was asked for: no more until it tells
  bool inner_ended_ = false;   // it has ended
  int inner_error_ = 0;        // reading it has failed
  int write_error_ = 0;        // writing it has
  bool in_touch_ = false;      // it has carried something
  bool heard_ = false;         // to here
  bool heard_no_tls_ = false;  // and that was no TLS
  bool heard_data_ = false;    // of the application, so the other side has let this one in
  uint64_t records_ = 0;       // written under the key that holds
  std::shared_ptr<const TlsContext> newer_;  // set during the handshake: checked when it ends
  std::string error_;                        // kFailed: why
  std::vector<std::string> names_;           // in the other side's certificate
  std::vector<std::byte> sealed_;            // records to be sent
  size_t sealed_sent_ = 0;                   // of them
  OwnedSsl ssl_;
  std::unique_ptr<Stream> stream_;  // last: gone first, so that no event meets half of this
};

}  // namespace hat
