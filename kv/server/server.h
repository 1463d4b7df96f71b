// SPDX-License-Identifier: Apache-2.0
// kv/server/server.h: builds the stock Thrift server that listens at one of the options' addresses.
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

// A server that is not listening yet; its serve() returns after stop(). Rings (shm:) always have a
// thread per connection. `on_listening` is called once, on the serving thread, with the address
// that was bound; `connections` counts what is open. serve() and stop() may throw libthrift's
// exceptions, the text of which says what could not be bound.
Result<std::shared_ptr<apache::thrift::server::TServer>> make_server(
    const ServeOptions& options, const Address& listen,
    std::shared_ptr<apache::thrift::TProcessor> processor, std::atomic<int64_t>& connections,
    std::function<void(const Address&)> on_listening);

}  // namespace hat
