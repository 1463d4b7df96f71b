// SPDX-License-Identifier: Apache-2.0
// client/rdma/rdma_options.h: the settings of a TRdma or a TServerRdma.
#ifndef HATRPC_RDMA_OPTIONS_H
#define HATRPC_RDMA_OPTIONS_H

#include <string>

namespace hatrpc {

struct RdmaOptions {
  // The hints: the text of a manifest, such as the constant in the header that `hintgen --cpp`
  // writes. If it is empty, the manifest is read from `manifest_file`. If that is empty, too, all
  // functions have default plans.
  std::string manifest{};
  std::string manifest_file{};

  // The settings, in the form of hatrpcd.yaml (docs/reference.md), with only these keys: node,
  // zone, fabric, link, limits, profile. `link` is required: its key `tls`, or `insecure: true`. If
  // the text is empty, it is read from `config_file`. Relative paths start at the working
  // directory, or at the directory of `config_file`.
  std::string config{};
  std::string config_file{};

  // For a TRdma: the service that is called. It may be empty if the manifest has only one service,
  // or if there is no manifest and the server has a TServerRdma.
  std::string service{};

  // For a TServerRdma: the Thrift transport and protocol that the server reads ("framed",
  // "buffered" or "header"; "binary", "compact" or "json"). They are required if the manifest has
  // `allow` rules.
  std::string thrift_transport{};
  std::string thrift_protocol{};
};

}  // namespace hatrpc

#endif  // HATRPC_RDMA_OPTIONS_H
