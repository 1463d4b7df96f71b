// SPDX-License-Identifier: Apache-2.0
// daemon/admin/admin_json.h: builds the JSON answers of the admin API. hatctl and scripts read
// these answers, so keys may be added but never renamed.
//
//   /status     {node, version, pid, start_unix_time, uptime_s, state: "running"|"draining",
//                pending: [text], generation, workers, fabric,
//                link_security: "tls"|"insecure"|"none" (the node has no links),
//                certificates: [{use, subject, not_before, not_after}], as in /certificates,
//                links: [{worker, peer, address, up, state: "idle"|"connecting"|"up"|"down",
//                sessions, last_error, peer_names: [text], peer_cores: CORES or null (not known),
//                lanes: [{protocol, class, state, failures, last_error}]}],
//                endpoints: [{listen, service, peers}], serves: [{service, upstream, mode}],
//                names: [{name, addresses: [text], error}],
//                connections_open, upstream_connections_open, buffered_bytes,
//                local_replies: {token: count}, last_reload: {successful, unix_time, error}}
//   /routes     {generation, fabric, host: CORES, services: [{service, functions: [{method, oneway,
//                origin, client: PLAN, client_to: {peer: PLAN}, server: PLAN, reply_protocol,
//                replies: [{peer, cores, nic_cores, protocol}],
//                allow: [text] or null (all peers), allow_mode:
//                "enforce"|"dry_run", learned: as in learned_json.h, carried, fallbacks: as in
//                /functions}]}]}; the last function is "_other".
//                PLAN, the plan of this host: {plan, reason, slot_bytes, small_bytes_max,
//                timeout_ms or null, idempotent, change_nothing: [{hint, why}]}. `client_to` has
//                the plans of calls to peers with their own profile that differ from `client`,
//                with reply_protocol and without change_nothing.
//                `replies` has the protocol that this node requests for the replies of each peer
//                that serves the function; it lacks peers without RDMA lanes, and peers whose cores
//                are not known. `reply_protocol` is the same for a server on a host like this one.
//                If the plan needs only one lane, larger replies use this protocol's rendezvous.
//                CORES: {cores, nic_cores}
//   /functions  [{service, method, side, started, in_flight, outcomes: {name: count},
//                request_bytes, response_bytes, latency: {buckets: [count], sum_ns},
//                carried: [{request_protocol, reply_protocol, fabric, calls}],
//                fallbacks: {reason: count}}]
//                bucket i counts calls of at most 2^i µs, the last bucket all longer ones; the
//                counts are not cumulative. /functions?called=1 omits the sides on which a
//                function was never called
//   /certificates  [{use: "certificate"|"ca"|"crl", file, subject, issuer, names: [text],
//                not_before, not_after (seconds since 1970), serial, fingerprint (both
//                hexadecimal)}]
//   /ping       {node, version, config: the absolute path of the node's file, manifests: [text],
//                the absolute paths of the files of manifests}
//   /calibrate  {ok: true, number} or {ok: false, error}
//   /calibration {number, state: "none"|"running"|"done"|"failed", peer, error}; if a profile was
//                measured, also {fabric, device, measured, profile: the text of its file, costs:
//                {fabric, put, get, message, registration, copy, pushed_calls, fetched_calls (each
//                [{bytes, ns}]), compare_swap_ns, fetch_add_ns, wake_up_ns, and, if calls could
//                not be measured, no_calls: why}}
//   /reload     {ok: true, generation, changes: [text], warnings: [text]} or {ok: false, error}
#pragma once

#include <nlohmann/json.hpp>

#include "daemon/admin/control.h"

namespace hat {

nlohmann::json status_json(Control& control);
nlohmann::json routes_json(Control& control);
nlohmann::json functions_json(Control& control, bool called_alone);
nlohmann::json ping_json(const Control& control);
nlohmann::json certificates_json(const Control& control);
nlohmann::json calibrate_json(const Result<uint64_t>& number);
nlohmann::json calibration_json(const CalibrationReport& report);
nlohmann::json reload_json(const Result<ReloadReport>& report);

// Parts of /status that other answers have too: `lanes` of a link, and `link_security`.
nlohmann::json lanes_json(const std::vector<LaneStatus>& lanes);
const char* link_security(const NodeConfig& node);

}  // namespace hat
