// SPDX-License-Identifier: Apache-2.0
// bench/daemons/applications.h: Thrift clients and servers on modelled hosts. Each is a thread that
// blocks, as applications with libthrift do (framed binary): it writes a message at once, and reads
// the length of a message and then the rest. A thread with a ring polls before it sleeps, as
// client/ring/spinner.h does.
//
// Thread   one thread runs all hosts of a model.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/account.h"
#include "bench/model/model_reactor.h"
#include "bench/model/polling_wait.h"

namespace hat::bench {

// A thread with one connection.
class Application : public model::Thread {
 protected:
  explicit Application(model::Machine& machine) : Thread(machine) {}

  void use(std::shared_ptr<model::Connection> connection, model::Connection::Side side);
  // Charges the work for a message, and writes it.
  void send(const std::string& message);
  // Prepares the next wait for a message: a client sends its next call.
  virtual void begin() {}
  // Handles a message, whose work was charged.
  virtual void on_message(std::span<const std::byte> message) = 0;

 private:
  static constexpr size_t kLengthBytes = 4;

  model::Then step() override;
  bool read_message();
  void charge_message(size_t bytes);
  model::Then wait();

  std::shared_ptr<model::Connection> connection_;
  model::Connection::Side side_{};
  std::vector<std::byte> message_ = std::vector<std::byte>(kLengthBytes);
  size_t filled_ = 0;  // the bytes of message_ that were read
  model::PollingWait polling_{*this};
  bool waits_ = false;
  model::Time waits_since_{};
  model::Time usual_wait_{};
};

// Calls echo, one call at a time, until the window has ended.
class EchoClient final : public Application {
 public:
  // Connects to `address`. The latencies are in microseconds. All arguments must outlive the
  // client.
  EchoClient(model::Machine& machine, model::Card& card, model::Network& network,
             const Address& address, size_t bytes, const Window& window,
             std::vector<double>& latencies);

  Account account() const;
  bool waits() const { return call_ != answered_; }

 private:
  void begin() override;
  void on_message(std::span<const std::byte> message) override;

  const std::string payload_;
  const Window& window_;
  std::vector<double>& latencies_;
  Account account_;
  int32_t call_ = 0;
  int32_t answered_ = 0;
  model::Time begun_{};
  model::Time ended_{};
};

// Answers the calls of one connection.
class EchoServerThread final : public Application {
 public:
  EchoServerThread(model::Machine& machine, std::shared_ptr<model::Connection> connection)
      : Application(machine) {
    use(std::move(connection), model::Connection::Side::kServer);
  }

 private:
  void on_message(std::span<const std::byte> message) override;
};

// Makes a thread for each connection.
class EchoServer {
 public:
  EchoServer(model::Machine& machine, model::Card& card, model::Network& network,
             const Address& address, model::Wire wire);

  model::Time busy() const;

 private:
  std::vector<std::unique_ptr<EchoServerThread>> threads_;
};

}  // namespace hat::bench
