// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/connections.cc: the functions with which a LibeventReactor makes its streams.
#include <sys/socket.h>

#include <cerrno>

#include "daemon/reactor/kernel_stream.h"
#include "daemon/reactor/ring_stream.h"
#include "daemon/reactor/socket_address.h"

namespace hat {

std::unique_ptr<ByteStream> LibeventReactor::connect(const Address& to, StreamEvents& events) {
  int error = 0;
  auto stream = try_connect(to, events, error);
  return stream != nullptr ? std::move(stream)
                           : std::make_unique<KernelStream>(*this, error, events);
}

std::unique_ptr<ByteStream> LibeventReactor::try_connect(const Address& to, StreamEvents& events,
                                                         int& error) {
  assert_in_loop();
  const auto failed = [&](int why) {
    error = why;
    return nullptr;
  };
  const auto where = to_connect_to(to);
  if (!where) return failed(EADDRNOTAVAIL);
  Descriptor fd(socket(where->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return failed(errno);
  const bool connected =
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&where->storage), where->length) == 0;
  if (!connected && errno != EINPROGRESS) return failed(errno);
  switch (to.kind) {
    case Address::Kind::kTcp:
      set_tcp_options(fd.get(), probe_tcp_after_);
      break;
    case Address::Kind::kUnix:
      refuse_descriptors(fd.get());
      break;
    case Address::Kind::kShm:
      return std::make_unique<RingStream>(*this, std::move(fd), hatrpc::ring::Side::kConnector,
                                          events);
  }
  return std::make_unique<KernelStream>(*this, std::move(fd), !connected, events);
}

std::unique_ptr<ByteStream> LibeventReactor::resume_accepted(Descriptor socket,
                                                             hatrpc::ring::Memory memory,
                                                             StreamEvents& events) {
  assert_in_loop();
  if (memory) {
    return std::make_unique<RingStream>(*this, std::move(socket), std::move(memory),
                                        hatrpc::ring::Side::kAcceptor, events);
  }
  return std::make_unique<KernelStream>(*this, std::move(socket), false, events);
}

std::unique_ptr<ByteStream> LibeventReactor::resume(std::vector<Descriptor> descriptors,
                                                    StreamEvents& events) {
  assert_in_loop();
  if (descriptors.size() == 1) {
    return std::make_unique<KernelStream>(*this, std::move(descriptors[0]), false, events);
  }
  hatrpc::ring::Memory memory;
  const int error =
      descriptors.size() == 2 ? hatrpc::ring::Memory::map(descriptors[1].release(), memory) : EBADF;
  if (error != 0) return std::make_unique<KernelStream>(*this, error, events);
  return std::make_unique<RingStream>(*this, std::move(descriptors[0]), std::move(memory),
                                      hatrpc::ring::Side::kConnector, events);
}

}  // namespace hat
