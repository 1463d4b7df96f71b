// SPDX-License-Identifier: Apache-2.0
// daemon/tls/record_transport.h: carries the TLS records of one connection over a byte stream of
// the reactor, the inner stream.
//
// OpenSSL reads from the inner stream, and writes sealed (encrypted) records to it, through the BIO
// that this class makes. The transport collects sealed records before it sends them, since a send
// for each record of 16 KiB would wake the other side each time.
//
// Bounds   64 KiB and a record of sealed bytes wait to be sent; then OpenSSL must wait.
// Errors   read_error() and write_error() return the first errno value of each direction.
// Thread   the reactor's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "daemon/tls/openssl.h"
#include "engine/link/seal.h"

namespace hat {

class RecordTransport {
 public:
  // How many bytes the transport collects before it sends them, and how many it reads at once.
  static constexpr size_t kBytesAtOnce = 64 * 1024;

  // Whether the inner stream has carried bytes so far, and which. The state only advances.
  enum class Contact : uint8_t {
    kNone,
    kSent,    // bytes to the other side, and none from it
    kTls,     // bytes from the other side, of which the first began like TLS
    kNotTls,  // bytes from the other side, of which the first did not
  };

  // Creates the inner stream with `open`; it reports to `events`.
  RecordTransport(const engine::OpenStream& open, StreamEvents& events) : inner_(open(events)) {}
  RecordTransport(const RecordTransport&) = delete;
  RecordTransport& operator=(const RecordTransport&) = delete;

  // Returns a BIO over this transport, which must outlive the BIO; null if memory is exhausted. The
  // BIO belongs to the caller.
  BIO* make_bio();

  // Sends the sealed records. Returns true if none are left. Returns false if the inner stream has
  // no space, or has failed.
  bool send();
  // Sends bytes that are not sealed. Does not send again what the inner stream does not accept.
  void send_plain(std::span<const uint8_t> bytes);
  bool all_sent() const { return sealed_.empty(); }
  // Ends this side's direction of the inner stream once all sealed records are sent.
  void end_writes();
  bool writes_ended() const { return end_ != End::kNone; }

  // Sets which events of the inner stream are delivered. While sealed records wait, on_writable()
  // is delivered, too.
  void want(bool read, bool write);
  // Handles an event of the inner stream. Call it before OpenSSL reads or writes.
  void on_readable() { drained_ = false; }
  // Handles an event of the inner stream. Returns false if sealed records still wait for space.
  bool on_writable();
  void read_again() { inner_->read_again(); }
  void abort_on_close() { inner_->abort_on_close(); }
  std::string error_text(int error) const { return inner_->error_text(error); }

  Contact contact() const { return contact_; }
  bool ended() const { return input_ended_; }  // the other side sends no more
  int read_error() const { return read_error_; }
  int write_error() const { return write_error_; }

 private:
  friend struct RecordBio;

  // kNone ──▶ kDue ──▶ kDone, or at once from kNone to kDone.
  enum class End : uint8_t {
    kNone,
    kDue,  // end_writes() was called, and sealed records wait
    kDone,
  };
  void advance_to(Contact next);
  void advance_to(End next);

  std::unique_ptr<ByteStream> inner_;
  std::vector<std::byte> sealed_;  // sealed records that wait to be sent
  size_t sealed_sent_ = 0;         // bytes at the front of sealed_ that have been sent
  Contact contact_ = Contact::kNone;
  End end_ = End::kNone;
  int read_error_ = 0;
  int write_error_ = 0;
  bool input_ended_ = false;
  bool drained_ = false;  // the inner stream gave less than asked: not read until its next event
  bool reads_ = false;    // the events that want() has requested from the inner stream
  bool writes_ = false;
};

}  // namespace hat
