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
#include <random>
#include <span>
#include <string>
#include <vector>

#include "bench/account.h"
#include "bench/daemons/workload.h"
#include "bench/model/model_reactor.h"
#include "bench/model/polling_wait.h"

namespace hat::bench {

// A thread with one connection.
class Application : public model::Thread {
 protected:
  explicit Application(model::Machine& machine) : Thread(machine) {}

  void use(std::shared_ptr<model::Connection> connection, model::Connection::Side side);
  // Charges the work for a message, and writes it: what does not fit the connection in later steps.
  void send(std::string message);
  // Prepares the next wait for a message: a client sends its next call.
  virtual void begin() {}
  // Handles a message, whose work was charged.
  virtual void on_message(std::span<const std::byte> message) = 0;

 private:
  static constexpr size_t kLengthBytes = 4;

  model::Then step() override;
  void write_rest();
  bool read_message();
  void charge_message(size_t bytes);
  model::Then wait();

  std::shared_ptr<model::Connection> connection_;
  model::Connection::Side side_{};
  std::vector<std::byte> message_ = std::vector<std::byte>(kLengthBytes);
  size_t filled_ = 0;  // the bytes of message_ that were read
  std::string unsent_;
  size_t sent_ = 0;  // bytes of unsent_
  model::PollingWait polling_{*this};
  bool waits_ = false;
  model::Time waits_since_{};
  model::Time usual_wait_{};
};

// Counts the calls of one function by all clients.
struct FunctionCalls {
  uint64_t ended = 0;             // in the window
  std::vector<double> latencies;  // microseconds
};

// Calls functions of the workload, one call at a time, until the window has ended.
class LoadClient final : public Application {
 public:
  // Connects to `address`. `seed` decides which functions the client calls. Adds its calls to
  // `calls`, which has one element for each function of the workload. All arguments must outlive
  // the client.
  LoadClient(model::Machine& machine, model::Card& card, model::Network& network,
             const Address& address, const Workload& workload, uint32_t seed, const Window& window,
             std::vector<FunctionCalls>& calls);

  Account account() const;
  bool waits() const { return call_ != answered_; }

 private:
  void begin() override;
  void on_message(std::span<const std::byte> message) override;
  size_t draw();

  const Workload& workload_;
  std::mt19937 random_;
  const Window& window_;
  std::vector<FunctionCalls>& calls_;
  Account account_;
  size_t function_ = 0;  // of the last call
  int32_t call_ = 0;
  int32_t answered_ = 0;
  model::Time begun_{};
  model::Time ended_{};
};

// Answers the calls of one connection.
class ServerThread final : public Application {
 public:
  ServerThread(model::Machine& machine, const Workload& workload,
               std::shared_ptr<model::Connection> connection)
      : Application(machine), workload_(workload) {
    use(std::move(connection), model::Connection::Side::kServer);
  }

 private:
  void on_message(std::span<const std::byte> message) override;

  const Workload& workload_;
};

// Makes a thread for each connection.
class Server {
 public:
  // Answers calls of the workload at `address`. The arguments must outlive the server.
  Server(model::Machine& machine, model::Card& card, model::Network& network,
         const Address& address, model::Wire wire, const Workload& workload);

  model::Time busy() const;

 private:
  std::vector<std::unique_ptr<ServerThread>> threads_;
};

}  // namespace hat::bench
