// SPDX-License-Identifier: Apache-2.0
// kv/server/serve.h: `hatkv serve`: a store, its servers and its metrics, until SIGTERM or SIGINT.
#pragma once

#include "kv/server/serve_options.h"

namespace hat {

// Prints `listening on ADDRESS` for each address once all take calls. Blocks SIGTERM and SIGINT in
// the calling thread. Returns after all calls in progress have ended and the store was synced and
// closed. They were answered, too, but for those of a nonblocking server: what they wrote is kept,
// and the caller's connection ends.
// Errors: what kept it from serving, and a last sync that failed.
Result<void> serve(const ServeOptions& options);

}  // namespace hat
