// SPDX-License-Identifier: Apache-2.0
// kv/cli/client.h: connects to HatKV, directly or through the daemons, with Thrift alone.
#pragma once

#include <memory>

#include "HatKV.h"
#include "base/result.h"
#include "kv/cli/command_options.h"

namespace hat {

// Connects to the address in `options`. One thread at a time may use the client. Errors: the
// address and why it cannot be reached. Calls throw libthrift's exceptions; TTransportException if
// an answer takes longer than the options' timeout.
Result<std::unique_ptr<hatkv::HatKVClient>> connect_to_kv(const CommandOptions& options);

}  // namespace hat
