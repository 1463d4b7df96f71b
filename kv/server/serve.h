// SPDX-License-Identifier: Apache-2.0
// kv/server/serve.h: `hatkv serve`: runs a store, its servers and its metrics until SIGTERM or
// SIGINT.
#pragma once

#include "kv/server/serve_options.h"

namespace hat {

// Prints `listening on ADDRESS` for each address once all servers listen. Blocks SIGTERM and SIGINT
// in the calling thread. Returns after all calls in progress have ended, and the store was synced.
// The callers have their answers then, except those of a nonblocking server: their writes are kept,
// but their connections end without an answer.
//
// Errors   why the server could not start or had to stop; a failure of the last sync.
Result<void> serve(const ServeOptions& options);

}  // namespace hat
