// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_reactor.h: a simulated host: a reactor whose iterations are events of the simulated
// network.
//
// Thread   One thread runs the iterations of all hosts, one at a time.
#pragma once

#include <glog/logging.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "tests/sim/sim_connection.h"
#include "tests/sim/sim_network.h"

namespace hat::sim {

class SimTimer;
class SimWatch;

class SimHost final : public Reactor {
 public:
  SimHost(SimNetwork& network, std::string name, uint64_t seed);

  TimePoint now() const override { return network_.now(); }
  Duration cpu_time() const override { return network_.now().time_since_epoch(); }  // never idle
  // Ends the program with an error, because simulated streams have no descriptors.
  std::unique_ptr<ByteStream> resume(std::vector<Descriptor>, StreamEvents&) override {
    LOG(FATAL) << "a simulated stream has no descriptors that another process could have kept";
  }
  std::unique_ptr<ByteStream> connect(const Address& to, StreamEvents& events) override {
    return network_.connect(*this, to, events);
  }
  std::unique_ptr<Timer> timer(std::function<void()> on_time) override;
  // Watches `descriptor`, a real descriptor of the kernel that the loop fabric uses. It becomes
  // readable only during an iteration of some host, because one thread runs all hosts.
  std::unique_ptr<Watch> watch(int descriptor, std::function<void()> on_readable) override;
  void poll_for(Duration) override {}
  void add_iteration_events(IterationEvents& events) override;
  void remove_iteration_events(IterationEvents& events) override {
    std::erase(iteration_events_, &events);
  }

  // Schedules an iteration of this host, unless one is scheduled or running.
  void wake();
  // Wakes this host if a descriptor that it watches is readable. The network calls this function
  // after each iteration of any host, because an iteration can make descriptors readable.
  void look_at_descriptors();
  // Delays the host's iterations for `time`, as if its process got no CPU.
  void freeze(Duration time) { frozen_until_ = std::max(frozen_until_, now() + time); }
  // Runs `work` in this host's next iteration.
  void post(std::function<void()> work);

  SimNetwork& network() { return network_; }
  const std::string& name() const { return name_; }

 private:
  friend class SimStream;
  friend class SimTimer;
  friend class SimWatch;
  enum class What : uint8_t { kRead, kWrite, kTime, kDescriptor };

  void iterate();
  void dispatch(What what, uint64_t id);
  bool anything_ready() const;
  std::vector<uint64_t> descriptors_ready() const;

  SimNetwork& network_;
  const std::string name_;
  const uint64_t entity_;
  Random random_;
  uint64_t ids_ = 0;
  bool in_iteration_ = false;
  bool turn_owed_ = false;
  TimePoint turn_at_ = TimePoint::max();
  TimePoint frozen_until_{};
  std::map<uint64_t, SimStream*> streams_;  // by id, because an order by pointer would be random
  std::map<uint64_t, SimTimer*> timers_;
  std::map<uint64_t, SimWatch*> watches_;
  std::vector<std::function<void()>> posted_;
  std::vector<IterationEvents*> iteration_events_;
};

class SimStream final : public ByteStream {
 public:
  SimStream(SimHost& host, std::shared_ptr<SimConnection> connection, SimConnection::Side side,
            StreamEvents& events);
  ~SimStream() override;

  IoResult read(std::span<std::byte> into) override;
  IoResult write(std::span<const iovec> from) override;
  void shutdown_write() override { connection_->shutdown_write(side_); }
  void want_read(bool wanted) override;
  void want_write(bool wanted) override;
  void read_again() override;
  void abort_on_close() override { abort_ = true; }

  bool read_ready() const { return want_read_ && (again_ || connection_->readable(side_)); }
  bool write_ready() const { return want_write_ && connection_->writable(side_); }
  void notify_readable();
  void notify_writable() { events_.on_writable(); }

 private:
  SimHost& host_;
  const uint64_t id_;
  std::shared_ptr<SimConnection> connection_;
  const SimConnection::Side side_;
  StreamEvents& events_;
  bool want_read_ = false;
  bool want_write_ = false;
  bool again_ = false;
  bool abort_ = false;
};

}  // namespace hat::sim
