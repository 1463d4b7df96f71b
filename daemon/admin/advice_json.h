// SPDX-License-Identifier: Apache-2.0
// daemon/admin/advice_json.h: builds the answer /advice of the admin API: the changes of hints that
// daemon/routing/advice.h proposes. hatctl and scripts read this answer, so keys may be added but
// never renamed.
//
//   {window_seconds, proposals: [{service, function, side: "client"|"server",
//   changes: [{group: "hint"|"c_hint"|"s_hint", key, from: text or null, to: text or null}],
//   evidence: text, gain: text}]}
//
// window_seconds  how long the calls were observed: at most 1200
// from            the value that holds now; null if no group sets the hint
// to              the value for the group of the function; null: remove the hint from the group
#pragma once

#include <nlohmann/json.hpp>

#include "daemon/admin/control.h"

namespace hat {

nlohmann::json advice_json(Control& control);

}  // namespace hat
