// SPDX-License-Identifier: Apache-2.0
// daemon/admin/call_json.h: a call that has ended, as JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "daemon/metrics/call_record.h"

namespace hat {

// Adds these members to `object`, which does not have them yet: {service, method, peer ("" if the
// call was not sent), worker, outcome, reason (the token of hatrpcd's own exception) or null,
// request_protocol, reply_protocol, request_bytes, reply_bytes, and these times in µs: took_us, all
// of them; waited_us, until the request was sent to the peer; then wire_us, between the hosts;
// peer_us, in the peer's daemon; server_us, in the server, until the first byte of its reply; and
// reply_us, from its arrival to the reply's last byte; and trace_id or null}. The times wire_us,
// peer_us and server_us are null if they are not known: no reply has arrived, or the peer's daemon
// is too old. answered_us is their sum, or null without a reply. The sum of peer_us and server_us
// is exact, and its parts are rounded to eighths of it.
void add_call(nlohmann::ordered_json& object, const CallRecord& call, size_t worker);

}  // namespace hat
