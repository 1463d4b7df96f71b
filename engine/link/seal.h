// SPDX-License-Identifier: Apache-2.0
// engine/link/seal.h: what stands between a link's frames and the network, if anything does: TLS in
// the daemon (daemon/tls/). The engine knows that there is a seal, and nothing of how it is made.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/reactor.h"

namespace hat::engine {

// Makes the plain stream, which tells `events`.
using OpenStream = std::function<std::unique_ptr<Stream>(StreamEvents& events)>;

// Both make a stream over what `open` makes. It carries nothing before the two sides have proved
// who they are; what goes wrong is told by its read() and write(), and by error_text().
class Seal {
 public:
  virtual ~Seal() = default;
  // `peer`: the node that the link is for.
  virtual std::unique_ptr<Stream> connect(const std::string& peer, const OpenStream& open,
                                          StreamEvents& events) = 0;
  virtual std::unique_ptr<Stream> accept(const OpenStream& open, StreamEvents& events) = 0;
};

}  // namespace hat::engine
