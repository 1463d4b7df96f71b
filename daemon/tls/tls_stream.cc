// SPDX-License-Identifier: Apache-2.0
#include "daemon/tls/tls_stream.h"

#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "base/transitions.h"
#include "config/identity.h"
#include "daemon/tls/certificate.h"

namespace hat {

using Contact = RecordTransport::Contact;

namespace {

std::string joined(std::span<const std::string> words, const char* none) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all.empty() ? none : all;
}

// Returns the alert in OpenSSL's text of `error`: "unknown ca" from "tlsv1 alert unknown ca".
std::string alert_text(unsigned long error) {
  const char* reason = ERR_reason_error_string(error);
  const std::string text = reason == nullptr ? "no reason given" : reason;
  const size_t begin = text.find("alert ");
  return begin == std::string::npos ? text : text.substr(begin + sizeof "alert " - 1);
}

bool is_alert(int reason) { return reason >= SSL_AD_REASON_OFFSET; }

// Returns the CPU time of this thread, which excludes the time of other threads on the same core.
Duration time_worked() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

bool is_of_version(int reason) {
  return reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_WRONG_SSL_VERSION ||
         reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_VERSION_TOO_LOW ||
         reason == SSL_R_TLSV1_ALERT_PROTOCOL_VERSION;
}

}  // namespace

TlsStream::TlsStream(OwnedSsl connection, const Options& options, const engine::OpenStream& open,
                     StreamEvents& events)
    : options_(options), events_(events), ssl_(std::move(connection)), transport_(open, *this) {
  if (options_.all != nullptr) options_.all->insert(this);
  BIO* bio = ssl_ ? transport_.make_bio() : nullptr;
  if (bio == nullptr) {
    fail_with(TlsFailure::kOther, "TLS: out of memory");
    return;
  }
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_app_data(ssl_.get(), this);
  SSL_set_default_read_buffer_len(ssl_.get(), RecordTransport::kBytesAtOnce);
  SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, on_certificate);
  if (options_.role == Role::kInitiator) {
    SSL_set_connect_state(ssl_.get());
    ERR_clear_error();
    SSL_do_handshake(ssl_.get());  // writes the ClientHello; if it fails, the next step fails too
    update_wants();
  } else {
    SSL_set_accept_state(ssl_.get());
  }
}

TlsStream::~TlsStream() {
  if (options_.all != nullptr) options_.all->erase(this);
  if (options_.turns != nullptr) options_.turns->leave(*this);
  ERR_clear_error();
  if (state_ == State::kOpen) SSL_shutdown(ssl_.get());  // writes the close_notify
  transport_.send();
  const bool begun = transport_.contact() != Contact::kNone || options_.role == Role::kAcceptor;
  if (!is_in_handshake() || !begun) return;
  options_.counters->failures[static_cast<size_t>(TlsFailure::kUnfinished)].add();
}

void TlsStream::change_to(State next) {
  static constexpr Transition<State> kTransitions[] = {
      {State::kHandshake, State::kHandshake}, {State::kHandshake, State::kWaits},
      {State::kHandshake, State::kOpen},      {State::kHandshake, State::kFailed},
      {State::kWaits, State::kWaits},         {State::kWaits, State::kHandshake},
      {State::kOpen, State::kFailed}};
  DCHECK(is_listed(kTransitions, state_, next));
  state_ = next;
}

// --- The handshake ---

std::optional<IoResult> TlsStream::shake_hands() {
  if (state_ == State::kOpen) return std::nullopt;
  if (state_ == State::kFailed) return IoResult{IoResult::Kind::kError, 0, EPROTO};
  const bool may_go_on = options_.turns == nullptr || options_.turns->take(*this);
  change_to(may_go_on ? State::kHandshake : State::kWaits);
  if (!may_go_on) {
    update_wants();
    return IoResult{IoResult::Kind::kWouldBlock};
  }
  const Duration began = time_worked();
  const int done = step();
  if (options_.turns != nullptr) options_.turns->took(time_worked() - began);
  const int why = SSL_get_error(ssl_.get(), done);
  transport_.send();
  if (done == 1) {
    if (newer_ && newer_->revokes(*ssl_)) return fail_revoked();
    come_open();
    return std::nullopt;
  }
  if (transport_.write_error() != 0 ||
      (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)) {
    return fail_handshake();
  }
  update_wants();
  return IoResult{IoResult::Kind::kWouldBlock};
}

int TlsStream::step() {
  int done = 0;
  do {
    ERR_clear_error();
    done = SSL_do_handshake(ssl_.get());
  } while (done != 1 && SSL_want_write(ssl_.get()) && transport_.send());
  return done;
}

bool TlsStream::still_shaking_hands() {
  if (!is_in_handshake()) return false;
  const auto came_to = shake_hands();
  return came_to && came_to->kind == IoResult::Kind::kWouldBlock;
}

void TlsStream::come_open() {
  change_to(State::kOpen);
  options_.counters->handshakes.add();
  update_wants();
  if (reads_) transport_.read_again();  // data may have arrived with the handshake's last bytes
}

// OpenSSL calls this for each certificate of the chain, from the trusted CA down to the peer's own
// certificate (depth 0). The function checks the names of the peer's own certificate.
int TlsStream::on_certificate(int good, X509_STORE_CTX* chain) {
  if (good != 1 || X509_STORE_CTX_get_error_depth(chain) != 0) return good;
  auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* self = static_cast<TlsStream*>(SSL_get_app_data(ssl));
  if (self->allows(*X509_STORE_CTX_get_current_cert(chain))) return 1;
  X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

bool TlsStream::allows(X509& certificate) {
  names_ = names_of(certificate);
  return options_.allowed.empty() || any_identity_matches(options_.allowed, names_);
}

IoResult TlsStream::fail_handshake() {
  const unsigned long error = ERR_peek_error();
  const int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
  const int no_stream =
      transport_.read_error() != 0 ? transport_.read_error() : transport_.write_error();
  // If the connection was never established, reports the connection's error. This does not count
  // as a failure of TLS.
  if (no_stream != 0 && transport_.contact() == Contact::kNone) {
    change_to(State::kFailed);
    error_ = transport_.error_text(no_stream);
    update_wants();
    return {IoResult::Kind::kError, 0, no_stream};
  }
  if (transport_.contact() == Contact::kNotTls) {
    say_that_this_is_tls();
    return fail_with(
        TlsFailure::kNotTls,
        "TLS: the peer does not speak TLS: check that its link has `tls`, and that this "
        "is its link's address");
  }
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) return fail_verification();
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    return fail_with(TlsFailure::kNoCertificate, "TLS: the peer showed no certificate");
  }
  if (is_of_version(reason)) {
    return fail_with(TlsFailure::kVersion, "TLS: the peer does not speak TLS 1.3");
  }
  if (is_alert(reason)) {
    return fail_with(TlsFailure::kRefused, "TLS: the peer refuses this node: " + alert_text(error));
  }
  if (transport_.ended() || no_stream != 0) {
    return fail_with(TlsFailure::kClosed,
                     "TLS: the peer closed the connection in the handshake: check that its link "
                     "has `tls`");
  }
  return fail_with(TlsFailure::kOther, "TLS: the handshake failed: " + take_openssl_error());
}

// Sends an alert to a peer that does not speak TLS; OpenSSL itself would send none. A hatrpcd
// without TLS recognises this alert, and reports it.
void TlsStream::say_that_this_is_tls() {
  constexpr std::array<uint8_t, 7> kFatalProtocolVersion = {0x15, 3, 1, 0, 2, 2, 0x46};
  if (options_.role == Role::kAcceptor) transport_.send_plain(kFatalProtocolVersion);
}

IoResult TlsStream::fail_verification() {
  const long why = SSL_get_verify_result(ssl_.get());
  if (why == X509_V_ERR_APPLICATION_VERIFICATION) {
    const bool calls = options_.role == Role::kInitiator;
    return fail_with(TlsFailure::kNotAllowed,
                     "TLS: the peer's certificate names " + joined(names_, "nobody") +
                         (calls ? "; this peer must be " : "; link.tls.allow has ") +
                         joined(options_.allowed, "nobody"));
  }
  const bool expired = why == X509_V_ERR_CERT_HAS_EXPIRED || why == X509_V_ERR_CERT_NOT_YET_VALID;
  const TlsFailure failure = expired                          ? TlsFailure::kExpired
                             : why == X509_V_ERR_CERT_REVOKED ? TlsFailure::kRevoked
                                                              : TlsFailure::kUntrusted;
  return fail_with(failure, std::string("TLS: the peer's certificate is not valid: ") +
                                X509_verify_cert_error_string(why));
}

void TlsStream::fail_if_revoked(std::shared_ptr<const TlsContext> context) {
  if (is_in_handshake()) {
    newer_ = std::move(context);
  } else if (state_ == State::kOpen && context->revokes(*ssl_)) {
    fail_revoked();
    if (reads_) transport_.read_again();
  }
}

IoResult TlsStream::fail_revoked() {
  return fail_with(TlsFailure::kRevoked, "TLS: the peer's certificate has been revoked");
}

IoResult TlsStream::fail_with(TlsFailure failure, const std::string& text) {
  ERR_clear_error();
  change_to(State::kFailed);
  error_ = text;
  transport_.send();  // sends the alert that OpenSSL has written
  options_.counters->failures[static_cast<size_t>(failure)].add();
  update_wants();
  return {IoResult::Kind::kError, 0, EPROTO};
}

// --- Bytes ---

IoResult TlsStream::stopped() {
  const int why = SSL_get_error(ssl_.get(), 0);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
    return {IoResult::Kind::kWouldBlock};
  }
  if (why == SSL_ERROR_ZERO_RETURN) return {IoResult::Kind::kEnd};
  const unsigned long error = ERR_peek_error();
  if (error == 0) {
    const int inner = transport_.read_error();
    if (inner != 0) return {IoResult::Kind::kError, 0, inner};
    // The peer has ended the stream without a close_notify. This is safe: a frame has a length, so
    // the reader notices a frame that is cut.
    if (transport_.ended()) return {IoResult::Kind::kEnd};
  }
  // An alert before any data means that the peer refuses this side's certificate. In TLS 1.3 it can
  // arrive now: the initiator completes its handshake before the acceptor sees its certificate.
  const int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
  if (!heard_data_ && is_alert(reason)) {
    const bool not_allowed = reason == SSL_AD_REASON_OFFSET + SSL_AD_HANDSHAKE_FAILURE;
    return fail_with(TlsFailure::kRefused,
                     "TLS: the peer refuses this node's certificate: " +
                         (not_allowed ? "its link.tls.allow has none of the certificate's names"
                                      : alert_text(error) + "; its log says why"));
  }
  change_to(State::kFailed);
  error_ = "TLS: " + take_openssl_error();
  return {IoResult::Kind::kError, 0, EPROTO};
}

IoResult TlsStream::read(std::span<std::byte> into) {
  if (const auto not_open = shake_hands()) return *not_open;
  pending_ = Pending::kNothing;
  size_t total = 0;
  while (total < into.size()) {
    size_t got = 0;
    ERR_clear_error();
    if (SSL_read_ex(ssl_.get(), into.data() + total, into.size() - total, &got) == 1) {
      heard_data_ = true;
      total += got;
      continue;
    }
    if (SSL_want_write(ssl_.get()) && transport_.send()) continue;  // has answered a key update
    if (SSL_want_write(ssl_.get())) pending_ = Pending::kSpace;
    const IoResult why = stopped();
    transport_.send();
    update_wants();
    if (total == 0) return why;
    if (why.kind != IoResult::Kind::kWouldBlock)
      transport_.read_again();  // the next read() returns this result
    return {IoResult::Kind::kOk, total};
  }
  if (SSL_has_pending(ssl_.get()) == 1) pending_ = Pending::kBytes;
  if (pending_ == Pending::kBytes) transport_.read_again();
  return {IoResult::Kind::kOk, total};
}

IoResult TlsStream::write(std::span<const iovec> from) {
  if (const auto not_open = shake_hands()) return *not_open;
  if (transport_.writes_ended()) return {IoResult::Kind::kError, 0, EPIPE};
  IoResult why{IoResult::Kind::kOk};
  size_t total = 0;
  for (const iovec& piece : from) {
    const auto* bytes = static_cast<const std::byte*>(piece.iov_base);
    for (size_t done = 0; done < piece.iov_len && why.kind == IoResult::Kind::kOk;) {
      size_t took = 0;
      ERR_clear_error();
      if (SSL_write_ex(ssl_.get(), bytes + done, piece.iov_len - done, &took) == 1) {
        done += took;
        total += took;
        change_key_in_time();
      } else if (!SSL_want_write(ssl_.get()) || !transport_.send()) {
        why = stopped();
      }
    }
  }
  transport_.send();
  update_wants();
  if (const int error = transport_.write_error()) return {IoResult::Kind::kError, 0, error};
  if (total != 0 || why.kind == IoResult::Kind::kOk) return {IoResult::Kind::kOk, total};
  return why.kind == IoResult::Kind::kEnd ? IoResult{IoResult::Kind::kError, 0, EPIPE} : why;
}

// Changes the key of this direction after options_.records_per_key records. The peer changes the
// key of the opposite direction itself.
void TlsStream::change_key_in_time() {
  if (++records_ < options_.records_per_key) return;
  if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1) records_ = 0;
}

void TlsStream::shutdown_write() {
  ERR_clear_error();
  if (state_ == State::kOpen) SSL_shutdown(ssl_.get());
  transport_.end_writes();
  update_wants();
}

std::string TlsStream::error_text(int error) const {
  return state_ == State::kFailed ? error_ : transport_.error_text(error);
}

// --- Events ---

void TlsStream::want_read(bool wanted) {
  reads_ = wanted;
  update_wants();
  if (reads_ && (pending_ == Pending::kBytes || state_ == State::kFailed)) transport_.read_again();
}

void TlsStream::want_write(bool wanted) {
  writes_ = wanted;
  update_wants();
}

void TlsStream::update_wants() {
  const bool shaking = is_in_handshake();
  const bool reads = shaking ? (reads_ || writes_) && state_ != State::kWaits : reads_;
  transport_.want(reads, writes_ && !shaking);
}

void TlsStream::on_readable() {
  transport_.on_readable();
  if (still_shaking_hands()) return;
  // Requests the event again for the next iteration, as a socket does: the user of the stream may
  // leave bytes unread.
  if (pending_ == Pending::kBytes) transport_.read_again();
  if (reads_) return events_.on_readable();
  if (writes_) events_.on_writable();  // the user of the stream waits in write() for the handshake
}

void TlsStream::on_writable() {
  if (!transport_.on_writable()) return;
  if (still_shaking_hands()) return;
  update_wants();
  const bool for_reading = pending_ == Pending::kSpace || state_ == State::kFailed;
  if (pending_ == Pending::kSpace) pending_ = Pending::kNothing;
  if (for_reading && reads_) return events_.on_readable();
  if (writes_) events_.on_writable();
}

}  // namespace hat
