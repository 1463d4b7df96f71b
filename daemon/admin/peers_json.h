// SPDX-License-Identifier: Apache-2.0
// daemon/admin/peers_json.h: the answer of GET /peers.
#pragma once

#include <nlohmann/json.hpp>

#include "daemon/admin/control.h"

namespace hat {

// The reports of workers in one answer of /peers or /explain: one for each worker and peer (and
// endpoint of the service). Each worker gives its first ones. A report has about 0.5 KiB of JSON,
// and each RDMA lane 0.2 KiB.
inline constexpr size_t kReportsMost = 20'000;
// Returns how many of these reports each worker may give, at least one.
size_t reports_of_worker(const Control& control);

// Returns {link_security: as in /status, workers, workers_silent (workers whose event loop did not
// respond in time: the answer lacks their reports), left_out (reports of workers that the answer
// lacks because there are more than kReportsMost), peers: [PEER]}, in the order of the
// configuration. PEER: {peer, address, group (the name in the file, if the peer is one address of a
// DNS name; or ""), node (the name that its daemon has sent, or ""), names: [text] (in its
// certificate), zone, is_near (in the zone of this node), weight, link_version (or null while no
// link is up), endpoints: [{listen, service}] (those that have the peer), unanswered, calls,
// streams (the sums of all workers), oldest_unanswered_s (the age of the oldest unanswered call,
// oneway calls aside; null if it is below kWaitingAtLeast), workers: [LINK], avoided: [AVOIDED]}.
// LINK: {worker, state: "idle"|"connecting"|"up"|"down", in_state_s (how long the link is up, or
// was needed and is not up; null if it is idle), sessions, last_error, unanswered, calls (that were
// sent to the peer since this process began; a call that was sent again counts again), streams
// (client connections that use the link), lanes: as in /status}.
// AVOIDED, the failures of calls to the peer, as one endpoint in one worker has counted them, or
// that the peer is slow for it: {worker, endpoint, state: "failing" (the peer is used) | "ejected"
// (it is used only if no other peer is left) | "due" (the next use is a trial) | "tried" (a trial
// runs) | "slow" (it is used if the others have no room, and for trials), left_s (until the
// ejection ends, or until another trial may begin), failures (in a row, if failing), why (the token
// of the last failure, or "")}. With "slow" there is a further key, times: how many times as long
// as at the median peer calls take there, from 2 to 16 (16: or more).
nlohmann::json peers_json(Control& control);
// Returns the short answer of GET /peers?avoided=1: {workers, workers_silent, left_out, peers:
// [{peer, avoided: [AVOIDED]}]}, of the peers at which calls failed or that are slow.
nlohmann::json avoided_peers_json(Control& control);
// Returns AVOIDED, of a peer that is not slow, without worker and endpoint.
nlohmann::json ejection_json(const EjectionStatus& ejection);

}  // namespace hat
