// SPDX-License-Identifier: Apache-2.0
// daemon/tls/tls_seal.h: creates the TLS streams of a worker's links. Such a stream sends this
// node's certificate, and rejects a peer's certificate without an allowed name.
//
// Thread   Only the worker's thread uses this class.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "config/node.h"
#include "daemon/metrics/counters.h"
#include "daemon/tls/handshake_turns.h"
#include "daemon/tls/tls_context.h"
#include "engine/link/seal.h"

namespace hat {

class TlsStream;

class TlsSeal final : public engine::Seal {
 public:
  // Requires that `node.link.tls` is set. `reactor` and `counters` must outlive this object, and
  // this object must outlive the streams that it creates.
  TlsSeal(Reactor& reactor, std::shared_ptr<const TlsContext> context, const NodeConfig& node,
          TlsCounters& counters);

  // Sets the context for later handshakes. Ends the links whose peer's certificate `context`
  // revokes; other links stay up.
  void set_context(std::shared_ptr<const TlsContext> context);
  // Sets the peers, and the identities that they must prove in later handshakes.
  void set_peers(const std::vector<PeerConfig>& peers);

  std::unique_ptr<ByteStream> connect(const std::string& peer, const engine::OpenStream& open,
                                      StreamEvents& events) override;
  std::unique_ptr<ByteStream> accept(const engine::OpenStream& open, StreamEvents& events) override;

 private:
  std::shared_ptr<const TlsContext> context_;
  std::map<std::string, std::vector<std::string>> identities_;  // identities that a peer may prove,
                                                                // by the peer's name
  const std::vector<std::string> allow_;
  TlsCounters& counters_;
  HandshakeTurns turns_;  // for handshakes that peers begin
  std::unordered_set<TlsStream*> streams_;
};

}  // namespace hat
