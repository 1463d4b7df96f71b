// SPDX-License-Identifier: Apache-2.0
#include "client/thrift/TShmServerSocket.h"

#include "client/ring/path_claim.h"
#include "client/thrift/TShmSocket.h"
#include "client/thrift/shm_path.h"

namespace hatrpc {

TShmServerSocket::TShmServerSocket(const std::string& path,
                                   std::shared_ptr<apache::thrift::TConfiguration> config)
    : TServerSocket(shm_path(path)), config_(std::move(config)) {}

void TShmServerSocket::listen() {
  const ring::PathClaim claim(getPath().c_str());
  TServerSocket::listen();
}

std::shared_ptr<apache::thrift::transport::TSocket> TShmServerSocket::createSocket(
    THRIFT_SOCKET client) {
  auto interrupt = interruptableChildren_ ? pChildInterruptSockReader_ : nullptr;
  return std::make_shared<TShmSocket>(client, std::move(interrupt), config_);
}

}  // namespace hatrpc
