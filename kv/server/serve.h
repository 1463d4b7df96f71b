// SPDX-License-Identifier: Apache-2.0
// kv/server/serve.h: the command `hatkv serve`: runs a store, its Thrift servers and its metrics
// until SIGTERM or SIGINT.
#pragma once

#include "kv/server/serve_options.h"

namespace hat {

// Serves until SIGTERM or SIGINT. When all servers listen, prints `listening on ADDRESS` for each
// address. Blocks SIGTERM and SIGINT in the calling thread. Returns after all calls in progress
// have ended and the store is synced. A nonblocking server does not answer the calls in progress:
// their writes are kept, but their connections end without an answer.
//
// Errors   The server could not start, had to stop, or could not sync the store at the end.
Result<void> serve(const ServeOptions& options);

}  // namespace hat
