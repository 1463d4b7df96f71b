// SPDX-License-Identifier: Apache-2.0
#include "daemon/tls/tls_seal.h"

#include "daemon/tls/tls_stream.h"

namespace hat {

TlsSeal::TlsSeal(Reactor& reactor, std::shared_ptr<const TlsContext> context,
                 const NodeConfig& node, TlsCounters& counters)
    : context_(std::move(context)),
      allow_(node.link.tls->allow),
      counters_(counters),
      turns_(reactor) {
  set_peers(node.peers);
}

void TlsSeal::set_peers(const std::vector<PeerConfig>& peers) {
  identities_.clear();
  for (const PeerConfig& peer : peers) {
    identities_[peer.name] = {peer.identity.empty() ? name_in_file(peer) : peer.identity};
  }
}

std::unique_ptr<ByteStream> TlsSeal::connect(const std::string& peer,
                                             const engine::OpenStream& open, StreamEvents& events) {
  const TlsStream::Options options{.role = TlsStream::Role::kInitiator,
                                   .allowed = identities_.at(peer),
                                   .counters = &counters_,
                                   .all = &streams_};
  return std::make_unique<TlsStream>(context_->new_connection(), options, open, events);
}

std::unique_ptr<ByteStream> TlsSeal::accept(const engine::OpenStream& open, StreamEvents& events) {
  const TlsStream::Options options{.role = TlsStream::Role::kAcceptor,
                                   .allowed = allow_,
                                   .counters = &counters_,
                                   .turns = &turns_,
                                   .all = &streams_};
  return std::make_unique<TlsStream>(context_->new_connection(), options, open, events);
}

void TlsSeal::set_context(std::shared_ptr<const TlsContext> context) {
  context_ = std::move(context);
  for (TlsStream* stream : streams_) stream->fail_if_revoked(context_);
}

}  // namespace hat
