// SPDX-License-Identifier: Apache-2.0
#include "bench/atb/server.h"

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "Atb.h"
#include "bench/atb/checksum.h"
#include "bench/atb/transports.h"

namespace hat::atb {
namespace {

namespace thrift = apache::thrift;

// Returns the bytes that are repeated in each answer. Their number is the prime 4093, so that a
// part of an answer that arrives at a wrong position changes the checksum.
const std::string& pattern() {
  static const std::string bytes = [] {
    std::string made(4093, '\0');
    uint32_t state = 1;
    for (char& byte : made) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    return made;
  }();
  return bytes;
}

class Handler final : public AtbIf {
 public:
  void latency(Answer& answer, int32_t answer_bytes, const std::string& payload) override {
    make(answer, answer_bytes, payload);
  }
  void throughput(Answer& answer, int32_t answer_bytes, const std::string& payload) override {
    make(answer, answer_bytes, payload);
  }

 private:
  static void make(Answer& answer, int32_t answer_bytes, const std::string& payload) {
    if (answer_bytes < 0 || answer_bytes > static_cast<int32_t>(kPayloadBytesMax)) {
      throw thrift::TApplicationException("atb server: answer_bytes is not from 0 to 8 MiB");
    }
    const auto bytes = static_cast<size_t>(answer_bytes);
    answer.payload.reserve(bytes);
    while (answer.payload.size() < bytes) {
      answer.payload.append(pattern(), 0, bytes - answer.payload.size());
    }
    answer.checksum = static_cast<int64_t>(checksum(payload, answer.payload));
  }
};

class ReportListening final : public thrift::server::TServerEventHandler {
 public:
  ReportListening(Address address, std::shared_ptr<thrift::transport::TServerSocket> socket)
      : address_(std::move(address)), socket_(std::move(socket)) {}

  void preServe() override {
    if (!address_.is_path()) address_.port = static_cast<uint16_t>(socket_->getPort());
    std::printf("listening on %s\n", to_string(address_).c_str());
    std::fflush(stdout);
  }

 private:
  Address address_;
  std::shared_ptr<thrift::transport::TServerSocket> socket_;
};

// Waits for one of the signals `ends`, removes the socket file `path` (empty: none), and exits.
[[noreturn]] void end_on_signal(const sigset_t& ends, const std::string& path) {
  int signal = 0;
  sigwait(&ends, &signal);
  if (!path.empty()) unlink(path.c_str());
  std::_Exit(EXIT_SUCCESS);
}

}  // namespace

Result<void> serve(const Options& options) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const auto socket = server_socket(options.address);
  thrift::server::TThreadedServer server(
      std::make_shared<AtbProcessor>(std::make_shared<Handler>()), socket, server_framing(),
      std::make_shared<thrift::protocol::TBinaryProtocolFactory>());
  server.setConcurrentClientLimit(options.clients_max);
  server.setServerEventHandler(std::make_shared<ReportListening>(options.address, socket));
  std::thread(end_on_signal, ends, options.address.path).detach();
  try {
    server.serve();
  } catch (const thrift::TException& error) {
    return fail(ErrorCode::kSystem,
                "cannot serve at " + to_string(options.address) + ": " + error.what());
  }
  return {};
}

}  // namespace hat::atb
