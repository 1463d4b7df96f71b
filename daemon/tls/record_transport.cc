// SPDX-License-Identifier: Apache-2.0
#include "daemon/tls/record_transport.h"

#include <sys/uio.h>

#include <cerrno>
#include <utility>

#include "base/check.h"

namespace hat {
namespace {

// Returns true if `first` begins a TLS handshake record or an alert.
bool begins_tls(char first) { return first == 0x16 || first == 0x15; }

}  // namespace

// The functions of the BIO through which OpenSSL reads and writes.
struct RecordBio {
  static RecordTransport& of(BIO* bio) { return *static_cast<RecordTransport*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* into, size_t size, size_t* got) {
    using Contact = RecordTransport::Contact;
    RecordTransport& self = of(bio);
    BIO_clear_retry_flags(bio);
    IoResult result;
    if (!self.drained_) result = self.inner_->read({reinterpret_cast<std::byte*>(into), size});
    switch (result.kind) {
      case IoResult::Kind::kOk:
        if (self.contact_ < Contact::kTls) {
          self.advance_to(begins_tls(into[0]) ? Contact::kTls : Contact::kNotTls);
        }
        self.drained_ = result.bytes < size;
        *got = result.bytes;
        return 1;
      case IoResult::Kind::kWouldBlock:
        self.drained_ = true;
        BIO_set_retry_read(bio);
        return 0;
      case IoResult::Kind::kEnd:
        self.input_ended_ = true;
        return 0;
      case IoResult::Kind::kError:
        self.read_error_ = result.error;
        return 0;
    }
    return 0;
  }

  static int write(BIO* bio, const char* from, size_t size, size_t* took) {
    RecordTransport& self = of(bio);
    BIO_clear_retry_flags(bio);
    if (self.sealed_.size() >= RecordTransport::kBytesAtOnce) {
      BIO_set_retry_write(bio);
      return 0;
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(from);
    self.sealed_.insert(self.sealed_.end(), bytes, bytes + size);
    *took = size;
    return 1;
  }

  static long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }
};

BIO* RecordTransport::make_bio() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "hat stream");
    BIO_meth_set_read_ex(made, RecordBio::read);
    BIO_meth_set_write_ex(made, RecordBio::write);
    BIO_meth_set_ctrl(made, RecordBio::control);
    return made;
  }();
  BIO* bio = BIO_new(method);
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  return bio;
}

void RecordTransport::advance_to(Contact next) {
  DCHECK(contact_ < next && (contact_ < Contact::kTls)) << "the first byte comes once";
  contact_ = next;
}

void RecordTransport::advance_to(End next) {
  DCHECK(end_ < next) << "the output ends once";
  end_ = next;
  if (end_ == End::kDone) inner_->shutdown_write();
}

bool RecordTransport::send() {
  while (sealed_sent_ < sealed_.size() && write_error_ == 0) {
    const iovec rest{sealed_.data() + sealed_sent_, sealed_.size() - sealed_sent_};
    const IoResult result = inner_->write({&rest, 1});
    if (result.kind == IoResult::Kind::kWouldBlock) return false;
    if (result.kind == IoResult::Kind::kOk) {
      if (contact_ == Contact::kNone) advance_to(Contact::kSent);
      sealed_sent_ += result.bytes;
    } else {
      write_error_ = result.error == 0 ? EPIPE : result.error;
    }
  }
  sealed_.clear();
  sealed_sent_ = 0;
  return write_error_ == 0;
}

void RecordTransport::send_plain(std::span<const uint8_t> bytes) {
  const iovec all{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  (void)inner_->write({&all, 1});
}

void RecordTransport::end_writes() {
  if (end_ != End::kNone) return;
  const bool waits = !send() && write_error_ == 0;
  advance_to(waits ? End::kDue : End::kDone);
}

void RecordTransport::want(bool read, bool write) {
  write = write || !sealed_.empty();
  if (std::exchange(reads_, read) != read) inner_->want_read(read);
  if (std::exchange(writes_, write) != write) inner_->want_write(write);
}

bool RecordTransport::on_writable() {
  if (!send() && write_error_ == 0) return false;
  if (end_ == End::kDue) {
    advance_to(End::kDone);
  }
  return true;
}

}  // namespace hat
