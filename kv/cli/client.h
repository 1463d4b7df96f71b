// SPDX-License-Identifier: Apache-2.0
// kv/cli/client.h: connects a stock Thrift client to HatKV, directly or through hatrpcd.
#pragma once

#include <memory>

#include "HatKV.h"
#include "base/result.h"
#include "kv/cli/command_options.h"

namespace hat {

// Connects to the address `options.connect`. Returns an error that names the address and the reason
// if the address cannot be reached. The client's calls throw libthrift's exceptions: a
// TTransportException if an answer takes longer than `options.timeout_s`. One thread at a time may
// use the client.
Result<std::unique_ptr<hatkv::HatKVClient>> connect_to_kv(const CommandOptions& options);

}  // namespace hat
