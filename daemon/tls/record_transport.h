// SPDX-License-Identifier: Apache-2.0
// daemon/tls/record_transport.h: carries the TLS records of one connection over a byte stream of
// the reactor, the *inner stream*.
//
// OpenSSL reads from the inner stream, and writes encrypted (*sealed*) records to it, through the
// BIO that this class makes. The transport collects sealed records before it sends them: a send for
// each record of 16 KiB would wake the peer each time.
//
// Bounds   At most 64 KiB and one record of sealed bytes wait to be sent; beyond that, OpenSSL must
//          wait.
// Errors   read_error() and write_error() return the first errno value of their direction; 0 if
//          there was no error.
// Thread   Only the reactor's thread uses this class.
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

  // Which bytes the inner stream has carried so far. The state only advances.
  enum class Contact : uint8_t {
    kNone,
    kSent,    // bytes were sent, and none were received
    kTls,     // bytes were received, and the first begin a TLS record
    kNotTls,  // bytes were received, and the first do not begin a TLS record
  };

  // Creates the inner stream with `open`. The inner stream reports its events to `events`.
  RecordTransport(const engine::OpenStream& open, StreamEvents& events) : inner_(open(events)) {}
  RecordTransport(const RecordTransport&) = delete;
  RecordTransport& operator=(const RecordTransport&) = delete;

  // Returns a BIO over this transport; null if memory is exhausted. The caller owns the BIO, and
  // the transport must outlive it.
  BIO* make_bio();

  // Sends the sealed records. Returns true if all were sent; returns false if the inner stream has
  // no space or has failed.
  bool send();
  // Sends bytes without encryption, at most once: bytes that the inner stream does not accept are
  // lost.
  void send_plain(std::span<const uint8_t> bytes);
  bool all_sent() const { return sealed_.empty(); }
  // Ends this side's direction of the inner stream once all sealed records are sent.
  void end_writes();
  bool writes_ended() const { return end_ != End::kNone; }

  // Sets which events of the inner stream are delivered. on_writable() is also delivered while
  // sealed records wait to be sent.
  void want(bool read, bool write);
  // Handles the event that the inner stream is readable. Call it before OpenSSL reads or writes.
  void on_readable() { drained_ = false; }
  // Handles the event that the inner stream is writable. Returns false if sealed records still wait
  // to be sent.
  bool on_writable();
  void read_again() { inner_->read_again(); }
  void abort_on_close() { inner_->abort_on_close(); }
  std::string error_text(int error) const { return inner_->error_text(error); }

  Contact contact() const { return contact_; }
  bool ended() const { return input_ended_; }  // the peer sends no more
  int read_error() const { return read_error_; }
  int write_error() const { return write_error_; }

 private:
  friend struct RecordBio;

  // Whether this side has half-closed the inner stream. The transitions are kNone ──▶ kDue ──▶
  // kDone and kNone ──▶ kDone.
  enum class End : uint8_t {
    kNone,
    kDue,  // end_writes() was called while sealed records waited
    kDone,
  };
  void advance_to(Contact next);
  void advance_to(End next);

  std::unique_ptr<ByteStream> inner_;
  std::vector<std::byte> sealed_;  // sealed records that wait to be sent
  size_t sealed_sent_ = 0;         // bytes at the front of sealed_ that were sent already
  Contact contact_ = Contact::kNone;
  End end_ = End::kNone;
  int read_error_ = 0;
  int write_error_ = 0;
  bool input_ended_ = false;
  bool drained_ = false;  // the last read returned less than asked: do not read before the next
                          // event
  bool reads_ = false;    // the events that want() has requested from the inner stream
  bool writes_ = false;
};

}  // namespace hat
