// SPDX-License-Identifier: Apache-2.0
// engine/link/seal.h: an optional layer between a link's frames and the network: TLS in the daemon
// (daemon/tls/). The engine knows only this interface.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/reactor.h"

namespace hat::engine {

// Creates the plain stream, which calls `events`.
using OpenStream = std::function<std::unique_ptr<ByteStream>(StreamEvents& events)>;

// connect() and accept() create a stream over the plain stream that `open` creates. The stream
// carries no bytes of the caller until the two sides have proved their identities. Its read() and
// write() report failures, and error_text() describes them.
class Seal {
 public:
  virtual ~Seal() = default;
  // Creates an initiator's stream; `peer` is the name of the node that the link is for.
  virtual std::unique_ptr<ByteStream> connect(const std::string& peer, const OpenStream& open,
                                              StreamEvents& events) = 0;
  virtual std::unique_ptr<ByteStream> accept(const OpenStream& open, StreamEvents& events) = 0;
};

}  // namespace hat::engine
