// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/trdma_conformance.h"

#include <gmock/gmock.h>
#include <thrift/transport/TTransportException.h>

#include <chrono>

namespace hatrpc {

using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;
using testing::HasSubstr;

namespace {

constexpr auto kManifest =
    "hatrpc_manifest: 1\n"
    "services:\n"
    "  Echo:\n"
    "    functions:\n"
    "      echo: {c_hint: {perf_goal: latency, payload_size: 64B}}\n"
    "      tell: {oneway: true}\n";

std::string big_endian(uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
  return text;
}

// Returns a framed binary message of the function `name` with one string of `bytes` bytes.
std::string message(char type, const std::string& name, size_t bytes) {
  const std::string field = type == 2 ? std::string(2, '\0') : std::string("\0\1", 2);
  const std::string body = std::string("\x80\x01\0", 3) + type +
                           big_endian(static_cast<uint32_t>(name.size())) + name + big_endian(1) +
                           "\x0b" + field + big_endian(static_cast<uint32_t>(bytes)) +
                           std::string(bytes, 'x') + '\0';
  return big_endian(static_cast<uint32_t>(body.size())) + body;
}

void write(TTransport& to, const std::string& text) {
  to.write(reinterpret_cast<const uint8_t*>(text.data()), static_cast<uint32_t>(text.size()));
  to.flush();
}

std::string read(TTransport& from, size_t bytes) {
  std::string text(bytes, '\0');
  from.readAll(reinterpret_cast<uint8_t*>(text.data()), static_cast<uint32_t>(bytes));
  return text;
}

// Reads a frame; returns it with its length in front.
std::string read_frame(TTransport& from) {
  const std::string head = read(from, 4);
  uint32_t bytes = 0;
  for (const char c : head) bytes = bytes << 8 | static_cast<uint8_t>(c);
  return head + read(from, bytes);
}

}  // namespace

// --- The server ---

EchoServer::EchoServer(const RdmaOptions& options) : socket_("127.0.0.1", 0, options) {
  socket_.listen();
  acceptor_ = std::thread([this] { accept(); });
}

void EchoServer::stop() {
  if (!acceptor_.joinable()) return;
  socket_.interrupt();
  acceptor_.join();
  socket_.interruptChildren();
  for (std::thread& thread : threads_) thread.join();
  socket_.close();
}

void EchoServer::accept() {
  try {
    for (;;) {
      threads_.emplace_back([this, client = socket_.accept()] { serve(*client); });
      ++connections_;
    }
  } catch (const TTransportException& error) {
    EXPECT_EQ(error.getType(), TTransportException::INTERRUPTED) << error.what();
  }
}

void EchoServer::serve(TTransport& client) {
  try {
    for (;;) {
      const std::string request = read_frame(client);
      if (request.find("tell") != std::string::npos) {
        ++oneway_calls_;
        continue;
      }
      const size_t bytes = request.size() - message(1, "echo", 0).size();
      write(client, message(2, "echo", bytes));
    }
  } catch (const TTransportException& error) {
    const auto type = error.getType();
    EXPECT_TRUE(type == TTransportException::END_OF_FILE ||
                type == TTransportException::INTERRUPTED)
        << error.what();
  }
  client.close();
}

// --- The client ---

RdmaOptions Rdma::options(const std::string& fabric) {
  return {.manifest = kManifest, .config = "fabric: " + fabric + "\nlink: {insecure: true}\n"};
}

std::unique_ptr<TRdma> Rdma::connect() const {
  auto client = std::make_unique<TRdma>("127.0.0.1", server_.port(), options(GetParam().client));
  client->setConnTimeout(30'000);
  client->setRecvTimeout(30'000);
  client->open();
  return client;
}

void Rdma::call(TRdma& client, size_t bytes) {
  write(client, message(1, "echo", bytes));
  EXPECT_EQ(read_frame(client), message(2, "echo", bytes)) << bytes << " bytes";
}

TEST_P(Rdma, CarriesCallsOfEachSize) {
  const auto client = connect();
  EXPECT_TRUE(client->isOpen());
  for (const size_t bytes : {0u, 8u, 64u, 4096u, 100'000u, 5'000'000u, 64u}) call(*client, bytes);
  client->close();
  EXPECT_FALSE(client->isOpen());
}

TEST_P(Rdma, UsesTheLaneOfThePlan) {
  const auto client = connect();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const bool has_lanes = GetParam().has_lanes;
  const auto is_up = [&] { return client->describe().find(": up") != std::string::npos; };
  do {
    call(*client, 64);
  } while (has_lanes && !is_up() && std::chrono::steady_clock::now() < until);
  EXPECT_EQ(is_up(), has_lanes) << client->describe();
  for (int i = 0; i < 100; ++i) call(*client, 64);
}

TEST_P(Rdma, ServesManyClientsAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      const auto client = connect();
      for (int n = 0; n < 200; ++n) call(*client, 64);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server_.connections(), 4);
}

TEST_P(Rdma, AClientMaySendManyCallsBeforeItReads) {
  const auto client = connect();
  for (int i = 0; i < 50; ++i) write(*client, message(1, "echo", 1000));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(read_frame(*client), message(2, "echo", 1000));
}

TEST_P(Rdma, AOnewayCallArrivesThoughTheClientCloses) {
  const auto client = connect();
  call(*client, 8);
  write(*client, message(4, "tell", 8));
  client->close();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (server_.oneway_calls() == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(server_.oneway_calls(), 1);
}

TEST_P(Rdma, CanBeOpenedAgain) {
  const auto client = connect();
  call(*client, 8);
  client->close();
  client->open();
  call(*client, 8);
}

TEST_P(Rdma, AnIdleConnectionStaysOpen) {
  const auto client = connect();
  call(*client, 8);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  call(*client, 8);
}

TEST_P(Rdma, AReadTimesOut) {
  const auto client = connect();
  client->setRecvTimeout(20);
  try {
    read(*client, 1);
    FAIL() << "nothing was sent";
  } catch (const TTransportException& error) {
    EXPECT_EQ(error.getType(), TTransportException::TIMED_OUT);
  }
  client->setRecvTimeout(30'000);
  call(*client, 8);
}

TEST_P(Rdma, TheServerEnds) {
  const auto client = connect();
  call(*client, 8);
  server_.stop();
  EXPECT_FALSE(client->peek());
}

TEST_P(Rdma, ThereIsNoServer) {
  server_.stop();
  TRdma client("127.0.0.1", 1, options(GetParam().client));
  client.setConnTimeout(30'000);
  try {
    client.open();
    FAIL() << "no process listens at the port";
  } catch (const TTransportException& error) {
    EXPECT_EQ(error.getType(), TTransportException::NOT_OPEN);
    EXPECT_THAT(error.what(), HasSubstr("rdma:127.0.0.1:1: "));
    EXPECT_THAT(error.what(), HasSubstr("Connection refused"));
  }
  EXPECT_FALSE(client.isOpen());
}

}  // namespace hatrpc
