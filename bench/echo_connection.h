// SPDX-License-Identifier: Apache-2.0
// bench/echo_connection.h: connects clients of the benchmarks to an echo server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "Echo.h"

namespace hat::bench {

// libthrift ends a connection after a total number of bytes, by default 100 MiB. connect_echo()
// raises this limit to the highest possible one.
constexpr size_t kLifeBytesMax = INT32_MAX;

// Opens a connection (framed binary) to `address`: a port of this host, the path of a unix socket,
// shm:PATH, or rdma:PORT,CONFIG,MANIFEST (bench/rdma_address.h). Throws a std::exception on any
// error.
std::unique_ptr<EchoClient> connect_echo(const std::string& address);

}  // namespace hat::bench
