// SPDX-License-Identifier: Apache-2.0
// engine/link/seal.h: the interface of an optional layer between the frames of a link and the
// network. The daemon implements this layer with TLS (daemon/tls/); the engine knows only this
// interface.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/reactor.h"

namespace hat::engine {

// A function that creates a byte stream over the network without TLS; the stream calls `events`.
using OpenStream = std::function<std::unique_ptr<ByteStream>(StreamEvents& events)>;

// connect() and accept() create a protected stream on top of the plain stream that `open` creates.
// The protected stream carries no bytes of its user until the two sides have proved their
// identities. If this fails, read() and write() of the protected stream return an error, and its
// error_text() describes the error.
class Seal {
 public:
  virtual ~Seal() = default;
  // Creates the protected stream of the side that opens the connection. `peer` is the name that the
  // other side must prove to have.
  virtual std::unique_ptr<ByteStream> connect(const std::string& peer, const OpenStream& open,
                                              StreamEvents& events) = 0;
  // Creates the protected stream of the side that accepts the connection.
  virtual std::unique_ptr<ByteStream> accept(const OpenStream& open, StreamEvents& events) = 0;
};

}  // namespace hat::engine
