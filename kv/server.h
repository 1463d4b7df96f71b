// kv/server.h: builds the stock Thrift server that the options ask for.
#pragma once

#include <thrift/TProcessor.h>
#include <thrift/server/TServer.h>

#include <functional>
#include <memory>

#include "base/address.h"
#include "base/result.h"
#include "kv/options.h"

namespace hat {

// A server that is not listening yet; its serve() returns after stop(). `on_listening` is called
// once, on the serving thread, with the address that was bound. serve() and stop() may throw
// libthrift's exceptions, the text of which says what could not be bound.
Result<std::shared_ptr<apache::thrift::server::TServer>> make_server(
    const KvOptions& options, std::shared_ptr<apache::thrift::TProcessor> processor,
    std::function<void(const Address&)> on_listening);

}  // namespace hat
