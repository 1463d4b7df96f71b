// SPDX-License-Identifier: Apache-2.0
// kv/cli/client.h: a connection to HatKV, straight or through the daemons, with nothing but Thrift.
#pragma once

#include <memory>

#include "HatKV.h"
#include "base/result.h"
#include "kv/cli/command_options.h"

namespace hat {

// Thread: one at a time. Errors: that, and why, the address cannot be reached. Calls throw what
// libthrift throws, TTransportException where an answer takes longer than the options' timeout.
Result<std::unique_ptr<hatkv::HatKVClient>> connect_to_kv(const CommandOptions& options);

}  // namespace hat
