// SPDX-License-Identifier: Apache-2.0
// client/rdma/prepared.h: reads and checks the settings of a TRdma or a TServerRdma, and makes from
// them the configuration of a worker, which is one of a hatrpcd with a single peer or server.
//
// Errors   A Result<> has all errors of the settings at once, each with its file and line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/rdma/rdma_options.h"
#include "daemon/configuration/configuration.h"

namespace hatrpc::rdma {

struct Prepared {
  hat::NodeConfig node;
  hat::Manifest manifest;
  std::vector<hat::NamedProfile> profiles;
  std::shared_ptr<const hat::TlsContext> tls;  // null if links do not use TLS
};

// Returns the configuration of a worker whose only endpoint is the application, and whose peer is
// the process that listens at `host`:`port`. Looks up the host, which can block. With TLS, the
// peer's certificate must have `host` as a DNS name.
hat::Result<Prepared> prepare_client(const RdmaOptions& options, const std::string& host,
                                     uint16_t port);

// Returns the configuration of a worker that accepts links at `host`:`port` (an empty host: every
// address) and serves every service from the server in this process (application_reactor.h).
hat::Result<Prepared> prepare_server(const RdmaOptions& options, const std::string& host,
                                     uint16_t port);

}  // namespace hatrpc::rdma
