// kv/serve.h: `hatkv serve`: a store, its servers and its metrics, until SIGTERM or SIGINT.
#pragma once

#include "kv/serve_options.h"

namespace hat {

// Prints `listening on ADDRESS` for each address once all take calls. Blocks SIGTERM and SIGINT in
// the calling thread. Returns after all calls in progress were answered and the store was closed.
// Errors: what kept it from serving.
Result<void> serve(const ServeOptions& options);

}  // namespace hat
