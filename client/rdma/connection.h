// SPDX-License-Identifier: Apache-2.0
// client/rdma/connection.h: the link of one TRdma to its server.
//
// Thread   any, one at a time.
#pragma once

#include <memory>
#include <string>

#include "client/rdma/application_stream.h"
#include "client/rdma/inner_node.h"
#include "client/rdma/keeper.h"

namespace hatrpc::rdma {

class Connection {
 public:
  // Makes the link, and waits until it is up. Returns an error with the code kUnavailable if the
  // server cannot be reached, or if `deadline` passes.
  static hat::Result<std::unique_ptr<Connection>> open(Prepared prepared, hat::TimePoint deadline);
  ~Connection();

  const std::shared_ptr<ApplicationStream>& stream() const { return stream_; }
  // Returns the text for TRdma::describe().
  std::string describe() const;

 private:
  // How long the destructor waits until all that was written is sent.
  static constexpr auto kDrainTime = std::chrono::seconds(1);

  explicit Connection(std::unique_ptr<InnerNode> node);
  hat::Result<void> await_link(hat::TimePoint deadline);

  const std::unique_ptr<InnerNode> node_;
  const std::shared_ptr<ApplicationStream> stream_;
  const std::shared_ptr<ClientKeeper> keeper_ = ClientKeeper::get();
};

}  // namespace hatrpc::rdma
