// SPDX-License-Identifier: Apache-2.0
// daemon/admin/connections_json.h: the answer of GET /connections.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "daemon/admin/control.h"

namespace hat {

inline constexpr size_t kConnectionsShown = 100;   // without `top`
inline constexpr size_t kConnectionsMost = 1'000;  // the largest `top`

// Returns {workers, workers_silent (as in /peers; their connections are missing and do not count),
// open, order, worker_us, connections: [CONNECTION]}: of the `open` connections of local clients
// those that come first. `by`, the parameter of the request, is the order: "calls" (or ""),
// "unanswered", "buffered", "bytes" or "age"; the largest number comes first. `top` is the number
// of elements, from 1 to kConnectionsMost; "" means kConnectionsShown. `worker_us` is the longest
// processor time that a worker used for the report. CONNECTION: {endpoint, service, kind:
// "tcp"|"unix"|"ring", pid (or null if it is not known, as over TCP), client (the client's address
// over TCP, or ""), protocol (that was recognised, or ""), peer (or "" if there is no stream),
// has_own_server (the peer keeps a connection to the server for this client alone), carrier ("tcp",
// the protocols of the RDMA lane, or "" if there is no stream), waits: ""|"link"|"lane"|"end" (it
// is ending), age_s, calls, unanswered, bytes_in, bytes_out, buffered (bytes in this daemon),
// worker}. age_s, calls, bytes_in and bytes_out begin when this process gets the connection, also
// if another process hands it over.
// Returns an error if a parameter has another value.
Result<nlohmann::json> connections_json(Control& control, const std::string& by,
                                        const std::string& top);

}  // namespace hat
