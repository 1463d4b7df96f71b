// SPDX-License-Identifier: Apache-2.0
// bench/rdma_address.h: the address of a benchmark's client or server that uses TRdma:
//
//   rdma:PORT,CONFIG,MANIFEST
//
// PORT is a port of this host; CONFIG and MANIFEST are the files of RdmaOptions.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "client/rdma/rdma_options.h"

namespace hat::bench {

struct RdmaAddress {
  int port = 0;
  hatrpc::RdmaOptions options;
};

// Returns nullopt if `address` is of another kind. Throws std::invalid_argument if it has no files.
inline std::optional<RdmaAddress> rdma_address(const std::string& address) {
  constexpr std::string_view kPrefix = "rdma:";
  if (!address.starts_with(kPrefix)) return std::nullopt;
  const size_t config = address.find(',');
  const size_t manifest = address.rfind(',');
  if (config == manifest) throw std::invalid_argument(address + ": not rdma:PORT,CONFIG,MANIFEST");
  RdmaAddress parsed;
  parsed.port = std::stoi(address.substr(kPrefix.size(), config - kPrefix.size()));
  parsed.options.config_file = address.substr(config + 1, manifest - config - 1);
  parsed.options.manifest_file = address.substr(manifest + 1);
  return parsed;
}

}  // namespace hat::bench
