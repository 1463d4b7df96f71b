// SPDX-License-Identifier: Apache-2.0
// bench/model/model_reactor.h: a reactor whose iterations are the steps of a modelled thread: the
// daemon's worker runs on it in virtual time.
//
// An iteration charges the thread's work: a look at the event loop, and each read and write. Like
// the daemon's reactor (daemon/reactor/libevent_reactor.h), the thread polls for a while before it
// sleeps, and yields its core between polls (bench/model/polling_wait.h).
//
// Thread   one thread runs all hosts of a model.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "bench/model/connection.h"
#include "bench/model/polling_wait.h"

namespace hat::model {

// The addresses of a model, and what listens there.
class Network {
 public:
  // Called for each connection to the address, in no step of a thread.
  using OnConnection = std::function<void(std::shared_ptr<Connection>)>;
  struct Listener {
    Wire wire = Wire::kSocket;
    Card* card = nullptr;  // of the host that listens
    OnConnection on_connection;
  };

  void listen(const Address& address, Listener listener) {
    listeners_[to_string(address)] = std::move(listener);
  }
  // Connects a thread of the host with this card to an address at which something listens.
  std::shared_ptr<Connection> connect(Schedule& schedule, Card& card, const Address& to);

 private:
  std::map<std::string, Listener> listeners_;
};

class ModelReactor final : public Reactor {
 public:
  // Takes the host, its card and the network, which must outlive the reactor.
  ModelReactor(Machine& machine, Card& card, Network& network);
  ~ModelReactor() override;

  Thread& thread() { return loop_; }
  void start() { loop_.machine().start(loop_); }
  // Runs `work` in the next iteration.
  void post(std::function<void()> work);
  // Accepts a connection in the next iteration: calls `on_connection` with what makes its stream.
  void accept(const std::shared_ptr<Connection>& connection,
              std::function<void(const ListenerEvents::Accept&)> on_connection);

  TimePoint now() const override { return TimePoint(loop_.now()); }
  Duration cpu_time() const override { return loop_.busy(); }
  std::unique_ptr<ByteStream> connect(const Address& to, StreamEvents& events) override;
  // Ends the program with an error, because modelled connections have no descriptors.
  std::unique_ptr<ByteStream> resume(std::vector<Descriptor>, StreamEvents&) override;
  std::unique_ptr<Timer> timer(std::function<void()> on_time) override;
  // Calls `on_readable` in each iteration. Only a modelled fabric has descriptors to watch, and it
  // wakes the thread for completions.
  std::unique_ptr<Watch> watch(int descriptor, std::function<void()> on_readable) override;
  void poll_for(Duration time) override;
  void add_iteration_events(IterationEvents& events) override { events_.push_back(&events); }
  void remove_iteration_events(IterationEvents& events) override { std::erase(events_, &events); }

 private:
  class ModelStream;
  class ModelTimer;
  class ModelWatch;
  class Loop final : public Thread {
   public:
    Loop(Machine& machine, ModelReactor& reactor) : Thread(machine), reactor_(reactor) {}

   private:
    Then step() override { return reactor_.iterate(); }
    ModelReactor& reactor_;
  };

  Then iterate();
  void dispatch(bool asks);
  bool asks_kernel();
  void found_work(Duration then_polls_for);
  void note_timer(uint64_t number);
  void charge_relay();

  Card& card_;
  Network& network_;
  Loop loop_;
  PollingWait polling_{loop_};
  std::vector<std::function<void()>> posted_;
  std::map<uint64_t, ModelStream*> streams_;  // by number
  std::set<uint64_t> noted_;                  // numbers of streams that may be ready
  std::map<uint64_t, ModelTimer*> timers_;    // by number
  std::set<uint64_t> due_timers_;             // numbers of timers whose time may have come
  std::vector<ModelWatch*> watches_;
  std::vector<IterationEvents*> events_;
  uint64_t numbers_ = 0;
  size_t rings_ = 0;          // those of `streams_` that are rings
  bool found_ = false;        // something, in this iteration
  size_t polled_ = 0;         // calls of poll_for(), in the last iteration
  uint32_t quiet_polls_ = 0;  // with rings: iterations since a socket last had an event
  Time asked_kernel_{};
};

}  // namespace hat::model
