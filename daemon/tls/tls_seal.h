// SPDX-License-Identifier: Apache-2.0
// daemon/tls/tls_seal.h: a worker's links under TLS: whom each handshake expects, and with which
// certificate it is made.
//
// Thread   the worker's.
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
  // `node.link.tls` is there. Reactor, node and counters outlive the seal, and the seal its
  // streams.
  TlsSeal(Reactor& reactor, std::shared_ptr<const TlsContext> context, const NodeConfig& node,
          TlsCounters& counters);

  // Sets the context of later handshakes, and ends the links whose peer's certificate it revokes.
  // Other links stay up.
  void set_context(std::shared_ptr<const TlsContext> context);

  std::unique_ptr<Stream> connect(const std::string& peer, const engine::OpenStream& open,
                                  StreamEvents& events) override;
  std::unique_ptr<Stream> accept(const engine::OpenStream& open, StreamEvents& events) override;

 private:
  std::shared_ptr<const TlsContext> context_;
  std::map<std::string, std::vector<std::string>> identities_;  // of peers, by name
  const std::vector<std::string>& allow_;
  TlsCounters& counters_;
  HandshakeTurns turns_;  // of those that peers begin
  std::unordered_set<TlsStream*> streams_;
};

}  // namespace hat
