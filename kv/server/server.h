// SPDX-License-Identifier: Apache-2.0
// kv/server/server.h: builds the stock Thrift server for one of the options' addresses.
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

// Returns a server that does not listen yet. Its serve() returns after stop(). Servers of rings
// (shm:) always have a thread per connection. The serving thread calls `on_listening` once, with
// the address that was bound. `connections` counts the open connections. serve() and stop() may
// throw libthrift's exceptions, whose text names the address that could not be bound.
Result<std::shared_ptr<apache::thrift::server::TServer>> make_server(
    const ServeOptions& options, const Address& listen,
    std::shared_ptr<apache::thrift::TProcessor> processor, std::atomic<int64_t>& connections,
    std::function<void(const Address&)> on_listening);

}  // namespace hat
