// SPDX-License-Identifier: Apache-2.0
// kv/server/server.h: makes a libthrift server for one address.
#pragma once

#include <thrift/TProcessor.h>
#include <thrift/server/TServer.h>

#include <atomic>
#include <functional>
#include <memory>

#include "base/address.h"
#include "base/result.h"
#include "kv/server/serve_options.h"

namespace hat {

// Returns a server for the address `listen`, of the kind in `options`. The server does not listen
// yet. Its serve() returns after stop(). When the server listens, its thread calls `on_listening`
// once, with the bound address. The server increments `connections` when a connection opens, and
// decrements it when the connection closes. A server for rings (shm:) always has a thread per
// connection. serve() and stop() can throw libthrift's exceptions.
Result<std::shared_ptr<apache::thrift::server::TServer>> make_server(
    const ServeOptions& options, const Address& listen,
    std::shared_ptr<apache::thrift::TProcessor> processor, std::atomic<int64_t>& connections,
    std::function<void(const Address&)> on_listening);

}  // namespace hat
