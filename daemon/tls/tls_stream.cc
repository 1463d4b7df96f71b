// SPDX-License-Identifier: Apache-2.0
#include "daemon/tls/tls_stream.h"

#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "config/identity.h"
#include "daemon/tls/certificate.h"

namespace hat {
namespace {

std::string joined(std::span<const std::string> words, const char* none) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all.empty() ? none : all;
}

// Returns true if `first` begins a TLS handshake record or an alert.
bool begins_tls(char first) { return first == 0x16 || first == 0x15; }

// Returns "unknown ca" for OpenSSL's "tlsv1 alert unknown ca".
std::string alert_text(unsigned long error) {
  const char* reason = ERR_reason_error_string(error);
  const std::string text = reason == nullptr ? "no reason given" : reason;
  const size_t begin = text.find("alert ");
  return begin == std::string::npos ? text : text.substr(begin + sizeof "alert " - 1);
}

bool is_alert(int reason) { return reason >= SSL_AD_REASON_OFFSET; }

// Returns this thread's CPU time, which does not include other threads' time on the same core.
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

// --- The BIO through which OpenSSL reads and writes ---

struct TlsStreamBio {
  static TlsStream& of(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* into, size_t size, size_t* got) {
    TlsStream& self = of(bio);
    BIO_clear_retry_flags(bio);
    IoResult result;
    if (!self.drained_) result = self.stream_->read({reinterpret_cast<std::byte*>(into), size});
    switch (result.kind) {
      case IoResult::Kind::kOk:
        self.in_touch_ = true;
        if (!std::exchange(self.heard_, true)) self.heard_no_tls_ = !begins_tls(into[0]);
        self.drained_ = result.bytes < size;
        *got = result.bytes;
        return 1;
      case IoResult::Kind::kWouldBlock:
        self.drained_ = true;
        BIO_set_retry_read(bio);
        return 0;
      case IoResult::Kind::kEnd:
        self.inner_ended_ = true;
        return 0;
      case IoResult::Kind::kError:
        self.inner_error_ = result.error;
        return 0;
    }
    return 0;
  }

  static int write(BIO* bio, const char* from, size_t size, size_t* took) {
    TlsStream& self = of(bio);
    BIO_clear_retry_flags(bio);
    if (self.sealed_.size() >= TlsStream::kBytesAtOnce) {
      BIO_set_retry_write(bio);
      return 0;
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(from);
    self.sealed_.insert(self.sealed_.end(), bytes, bytes + size);
    *took = size;
    return 1;
  }

  static long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }

  static BIO* make(TlsStream& self) {
    static BIO_METHOD* const method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "hat stream");
      BIO_meth_set_read_ex(made, read);
      BIO_meth_set_write_ex(made, write);
      BIO_meth_set_ctrl(made, control);
      return made;
    }();
    BIO* bio = BIO_new(method);
    if (bio == nullptr) return nullptr;
    BIO_set_data(bio, &self);
    BIO_set_init(bio, 1);
    return bio;
  }
};

TlsStream::TlsStream(OwnedSsl connection, const Options& options, const engine::OpenStream& open,
                     StreamEvents& events)
    : options_(options), events_(events), ssl_(std::move(connection)), stream_(open(*this)) {
  if (options_.all != nullptr) options_.all->insert(this);
  BIO* bio = ssl_ ? TlsStreamBio::make(*this) : nullptr;
  if (bio == nullptr) {
    fail_with(TlsFailure::kOther, "TLS: out of memory");
    return;
  }
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_app_data(ssl_.get(), this);
  SSL_set_default_read_buffer_len(ssl_.get(), kBytesAtOnce);
  SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, on_certificate);
  if (options_.role == Role::kInitiator) {
    SSL_set_connect_state(ssl_.get());
    ERR_clear_error();
    SSL_do_handshake(ssl_.get());  // seals the ClientHello; a failure recurs at the next step
    update_wants();
  } else {
    SSL_set_accept_state(ssl_.get());
  }
}

TlsStream::~TlsStream() {
  if (options_.all != nullptr) options_.all->erase(this);
  if (options_.turns != nullptr) options_.turns->leave(*this);
  ERR_clear_error();
  if (state_ == State::kOpen) SSL_shutdown(ssl_.get());  // seals close_notify
  send_sealed();
  const bool begun = in_touch_ || options_.role == Role::kAcceptor;
  if (!is_in_handshake() || !begun) return;
  options_.counters->failures[static_cast<size_t>(TlsFailure::kUnfinished)].add();
}

// --- The handshake ---

std::optional<IoResult> TlsStream::shake_hands() {
  if (state_ == State::kOpen) return std::nullopt;
  if (state_ == State::kFailed) return IoResult{IoResult::Kind::kError, 0, EPROTO};
  const bool may_go_on = options_.turns == nullptr || options_.turns->take(*this);
  state_ = may_go_on ? State::kHandshake : State::kWaits;
  if (!may_go_on) {
    update_wants();
    return IoResult{IoResult::Kind::kWouldBlock};
  }
  const Duration began = time_worked();
  const int done = step();
  if (options_.turns != nullptr) options_.turns->took(time_worked() - began);
  const int why = SSL_get_error(ssl_.get(), done);
  send_sealed();
  if (done == 1) {
    if (newer_ && newer_->revokes(*ssl_)) return fail_revoked();
    come_open();
    return std::nullopt;
  }
  if (write_error_ != 0 || (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)) {
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
  } while (done != 1 && SSL_want_write(ssl_.get()) && send_sealed());
  return done;
}

bool TlsStream::still_shaking_hands() {
  if (!is_in_handshake()) return false;
  const auto came_to = shake_hands();
  return came_to && came_to->kind == IoResult::Kind::kWouldBlock;
}

void TlsStream::come_open() {
  state_ = State::kOpen;
  options_.counters->handshakes.add();
  update_wants();
  if (reads_) stream_->read_again();  // data may have arrived with the handshake's last bytes
}

// OpenSSL calls this for each certificate of the chain. The first is the CA that this side trusts,
// and the last is the other side's own certificate (depth 0).
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
  const int no_stream = inner_error_ != 0 ? inner_error_ : write_error_;
  if (no_stream != 0 && !in_touch_) {  // there was never a connection: not a failure of TLS
    state_ = State::kFailed;
    error_ = stream_->error_text(no_stream);
    update_wants();
    return {IoResult::Kind::kError, 0, no_stream};
  }
  if (heard_no_tls_) {
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
  if (inner_ended_ || no_stream != 0) {
    return fail_with(TlsFailure::kClosed,
                     "TLS: the peer closed the connection in the handshake: check that its link "
                     "has `tls`");
  }
  return fail_with(TlsFailure::kOther, "TLS: the handshake failed: " + take_openssl_error());
}

// Sends an alert to a peer that does not speak TLS. OpenSSL itself sends no answer to such bytes. A
// hatrpcd without TLS recognises this alert, and reports it.
void TlsStream::say_that_this_is_tls() {
  constexpr std::array<uint8_t, 7> kFatalProtocolVersion = {0x15, 3, 1, 0, 2, 2, 0x46};
  auto alert = kFatalProtocolVersion;
  const iovec all{alert.data(), alert.size()};
  if (options_.role == Role::kAcceptor) (void)stream_->write({&all, 1});
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
  return fail_with(failure, std::string("TLS: the peer's certificate is not good: ") +
                                X509_verify_cert_error_string(why));
}

void TlsStream::fail_if_revoked(std::shared_ptr<const TlsContext> context) {
  if (is_in_handshake()) {
    newer_ = std::move(context);
  } else if (state_ == State::kOpen && context->revokes(*ssl_)) {
    fail_revoked();
    if (reads_) stream_->read_again();
  }
}

IoResult TlsStream::fail_revoked() {
  return fail_with(TlsFailure::kRevoked,
                   "TLS: the peer's certificate is not good any more: revoked");
}

IoResult TlsStream::fail_with(TlsFailure failure, const std::string& text) {
  ERR_clear_error();
  state_ = State::kFailed;
  error_ = text;
  send_sealed();  // sends OpenSSL's alert
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
    if (inner_error_ != 0) return {IoResult::Kind::kError, 0, inner_error_};
    // The end without a close_notify. A frame has its own length, so the reader notices a cut one.
    if (inner_ended_) return {IoResult::Kind::kEnd};
  }
  // In TLS 1.3 the initiator's handshake is over before the acceptor has seen its certificate, so
  // the acceptor's refusal arrives only now.
  const int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
  if (!heard_data_ && is_alert(reason)) {
    const bool not_allowed = reason == SSL_AD_REASON_OFFSET + SSL_AD_HANDSHAKE_FAILURE;
    return fail_with(TlsFailure::kRefused,
                     "TLS: the peer refuses this node's certificate: " +
                         (not_allowed ? "its link.tls.allow has none of the certificate's names"
                                      : alert_text(error) + "; its log says why"));
  }
  state_ = State::kFailed;
  error_ = "TLS: " + take_openssl_error();
  return {IoResult::Kind::kError, 0, EPROTO};
}

bool TlsStream::send_sealed() {
  while (sealed_sent_ < sealed_.size() && write_error_ == 0) {
    const iovec rest{sealed_.data() + sealed_sent_, sealed_.size() - sealed_sent_};
    const IoResult result = stream_->write({&rest, 1});
    if (result.kind == IoResult::Kind::kWouldBlock) return false;
    if (result.kind == IoResult::Kind::kOk) {
      in_touch_ = true;
      sealed_sent_ += result.bytes;
    } else {
      write_error_ = result.error == 0 ? EPIPE : result.error;
    }
  }
  sealed_.clear();
  sealed_sent_ = 0;
  return write_error_ == 0;
}

IoResult TlsStream::read(std::span<std::byte> into) {
  if (const auto not_open = shake_hands()) return *not_open;
  keeps_ = false;
  size_t total = 0;
  while (total < into.size()) {
    size_t got = 0;
    ERR_clear_error();
    if (SSL_read_ex(ssl_.get(), into.data() + total, into.size() - total, &got) == 1) {
      heard_data_ = true;
      total += got;
      continue;
    }
    if (SSL_want_write(ssl_.get()) && send_sealed()) continue;  // answers to key updates
    read_waits_ = SSL_want_write(ssl_.get());
    const IoResult why = stopped();
    send_sealed();
    update_wants();
    if (total == 0) return why;
    if (why.kind != IoResult::Kind::kWouldBlock) stream_->read_again();  // returned by that read()
    return {IoResult::Kind::kOk, total};
  }
  keeps_ = SSL_has_pending(ssl_.get()) == 1;
  if (keeps_) stream_->read_again();
  return {IoResult::Kind::kOk, total};
}

IoResult TlsStream::write(std::span<const iovec> from) {
  if (const auto not_open = shake_hands()) return *not_open;
  if (shut_) return {IoResult::Kind::kError, 0, EPIPE};
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
      } else if (!SSL_want_write(ssl_.get()) || !send_sealed()) {
        why = stopped();
      }
    }
  }
  send_sealed();
  update_wants();
  if (write_error_ != 0) return {IoResult::Kind::kError, 0, write_error_};
  if (total != 0 || why.kind == IoResult::Kind::kOk) return {IoResult::Kind::kOk, total};
  return why.kind == IoResult::Kind::kEnd ? IoResult{IoResult::Kind::kError, 0, EPIPE} : why;
}

// Changes the key of this direction if it is time. The other side changes the key of its own
// direction.
void TlsStream::change_key_in_time() {
  if (++records_ < options_.records_per_key) return;
  if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1) records_ = 0;
}

void TlsStream::shutdown_write() {
  ERR_clear_error();
  if (state_ == State::kOpen) SSL_shutdown(ssl_.get());
  shut_ = true;
  ends_ = !send_sealed() && write_error_ == 0;
  if (!ends_) stream_->shutdown_write();
  update_wants();
}

std::string TlsStream::error_text(int error) const {
  return state_ == State::kFailed ? error_ : stream_->error_text(error);
}

// --- Events ---

void TlsStream::want_read(bool wanted) {
  reads_ = wanted;
  update_wants();
  if (reads_ && (keeps_ || state_ == State::kFailed)) stream_->read_again();
}

void TlsStream::want_write(bool wanted) {
  writes_ = wanted;
  update_wants();
}

void TlsStream::update_wants() {
  const bool shaking = is_in_handshake();
  const bool reads = shaking ? (reads_ || writes_) && state_ != State::kWaits : reads_;
  const bool writes = !sealed_.empty() || (writes_ && !shaking);
  if (std::exchange(inner_reads_, reads) != reads) stream_->want_read(reads);
  if (std::exchange(inner_writes_, writes) != writes) stream_->want_write(writes);
}

void TlsStream::on_readable() {
  drained_ = false;
  if (still_shaking_hands()) return;
  // Repeats the event in the next iteration, as a socket does: the callee may not read all bytes.
  if (keeps_) stream_->read_again();
  if (reads_) return events_.on_readable();
  if (writes_) events_.on_writable();  // a write() waited for the handshake
}

void TlsStream::on_writable() {
  if (!send_sealed() && write_error_ == 0) return;
  if (std::exchange(ends_, false)) stream_->shutdown_write();
  if (still_shaking_hands()) return;
  update_wants();
  const bool for_reading = std::exchange(read_waits_, false) || state_ == State::kFailed;
  if (for_reading && reads_) return events_.on_readable();
  if (writes_) events_.on_writable();
}

}  // namespace hat
