// SPDX-License-Identifier: Apache-2.0
// client/rdma/application_reactor.h: the event loop of a worker in an application's process. The
// worker reaches the application's Thrift server as it reaches a server in another process: by
// connecting to an address. The connection then has no socket.
//
// Thread   as its base class.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "daemon/reactor/libevent_reactor.h"

namespace hatrpc::rdma {

// The address of the server in this process. No other socket can have it, because the kernel does
// not allow a NUL byte in a path.
inline const hat::Address kThisProcess{hat::Address::Kind::kUnix, "", 0,
                                       std::string("\0this process", 13)};

class ApplicationReactor final : public hat::LibeventReactor {
 public:
  // Makes a connection to the server in this process; returns null if it takes no more connections.
  using Connect = std::function<std::unique_ptr<hat::ByteStream>(hat::StreamEvents&)>;

  // Sets how connections to kThisProcess are made. Without this they are refused.
  void set_server(Connect connect) { connect_ = std::move(connect); }

  std::unique_ptr<hat::ByteStream> try_connect(const hat::Address& to, hat::StreamEvents& events,
                                               int& error) override {
    if (to != kThisProcess) return LibeventReactor::try_connect(to, events, error);
    auto stream = connect_ ? connect_(events) : nullptr;
    error = stream == nullptr ? ECONNREFUSED : 0;
    return stream;
  }

 private:
  Connect connect_;
};

}  // namespace hatrpc::rdma
