// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/sim_reactor.h"

#include <glog/logging.h>
#include <poll.h>

namespace hat::sim {

class SimTimer final : public Timer {
 public:
  SimTimer(SimHost& host, std::function<void()> on_time)
      : host_(host), id_(++host.ids_), on_time_(std::move(on_time)) {
    host_.timers_[id_] = this;
  }
  ~SimTimer() override { host_.timers_.erase(id_); }

  void set(TimePoint when) override {
    when_ = when;
    host_.network_.at(std::max(when, host_.now()), host_.entity_,
                      [host = &host_] { host->wake(); });
  }
  void cancel() override { when_ = TimePoint::max(); }

  bool due() const { return when_ <= host_.now(); }
  void ring() {
    when_ = TimePoint::max();
    on_time_();
  }

 private:
  SimHost& host_;
  const uint64_t id_;
  std::function<void()> on_time_;
  TimePoint when_ = TimePoint::max();
};

class SimWatch final : public Watch {
 public:
  SimWatch(SimHost& host, int descriptor, std::function<void()> on_readable)
      : host_(host),
        id_(++host.ids_),
        descriptor_(descriptor),
        on_readable_(std::move(on_readable)) {
    if (host_.watches_.empty()) host_.network_.add_watching(host_);
    host_.watches_[id_] = this;
  }
  ~SimWatch() override {
    host_.watches_.erase(id_);
    if (host_.watches_.empty()) host_.network_.remove_watching(host_);
  }
  int descriptor() const { return descriptor_; }
  void notify() { on_readable_(); }

 private:
  SimHost& host_;
  const uint64_t id_;
  const int descriptor_;
  std::function<void()> on_readable_;
};

SimHost::SimHost(SimNetwork& network, std::string name, uint64_t seed)
    : network_(network),
      name_(std::move(name)),
      entity_(network.new_entity()),
      random_(seed ^ (entity_ << 32)) {}

std::unique_ptr<Watch> SimHost::watch(int descriptor, std::function<void()> on_readable) {
  return std::make_unique<SimWatch>(*this, descriptor, std::move(on_readable));
}

std::vector<uint64_t> SimHost::descriptors_ready() const {
  if (watches_.empty()) return {};
  std::vector<pollfd> polled;
  for (const auto& [id, watch] : watches_) polled.push_back({watch->descriptor(), POLLIN, 0});
  poll(polled.data(), polled.size(), 0);
  std::vector<uint64_t> ready;
  auto next = polled.begin();
  for (const auto& [id, watch] : watches_) {
    if ((next++)->revents != 0) ready.push_back(id);
  }
  return ready;
}

void SimHost::look_at_descriptors() {
  if (!in_iteration_ && turn_at_ == TimePoint::max() && !descriptors_ready().empty()) wake();
}

std::unique_ptr<Timer> SimHost::timer(std::function<void()> on_time) {
  return std::make_unique<SimTimer>(*this, std::move(on_time));
}

void SimHost::add_iteration_events(IterationEvents& events) {
  iteration_events_.push_back(&events);
  turn_owed_ = true;  // flush the data that the set-up has queued, without waiting for an event
  wake();
}

void SimHost::post(std::function<void()> work) {
  posted_.push_back(std::move(work));
  wake();
}

void SimHost::wake() {
  constexpr Duration kWakeUpMax = std::chrono::microseconds(15);
  if (in_iteration_ || turn_at_ != TimePoint::max()) return;
  turn_at_ = std::max(now() + random_.between(Duration(0), kWakeUpMax), frozen_until_);
  network_.at(turn_at_, entity_, [this] {
    turn_at_ = TimePoint::max();
    if (now() < frozen_until_) return wake();
    iterate();
  });
}

void SimHost::iterate() {
  in_iteration_ = true;
  std::vector<std::pair<What, uint64_t>> ready;
  for (const auto& [id, stream] : streams_) {
    if (stream->read_ready()) ready.emplace_back(What::kRead, id);
    if (stream->write_ready()) ready.emplace_back(What::kWrite, id);
  }
  for (const auto& [id, timer] : timers_) {
    if (timer->due()) ready.emplace_back(What::kTime, id);
  }
  for (const uint64_t id : descriptors_ready()) ready.emplace_back(What::kDescriptor, id);
  // Skip an iteration without events, because the real reactor would not run it. The flush at the
  // end of such an iteration would hide that the daemon forgot to flush some data.
  if (ready.empty() && posted_.empty() && !std::exchange(turn_owed_, false)) {
    in_iteration_ = false;
    return;
  }
  random_.shuffle(ready);
  for (const auto& work : std::exchange(posted_, {})) work();
  for (const auto& [what, id] : ready) dispatch(what, id);
  for (IterationEvents* events : std::vector(iteration_events_)) events->on_iteration_end();
  for (IterationEvents* events : std::vector(iteration_events_)) turn_owed_ |= !events->may_sleep();
  in_iteration_ = false;
  if (anything_ready()) wake();
  network_.look_at_descriptors();
}

// Handles the event `what` of the object `id` if the event is still due. An earlier event of the
// iteration can have deleted the object or handled the cause.
void SimHost::dispatch(What what, uint64_t id) {
  if (what == What::kTime) {
    const auto timer = timers_.find(id);
    if (timer != timers_.end() && timer->second->due()) timer->second->ring();
    return;
  }
  if (what == What::kDescriptor) {
    const auto watch = watches_.find(id);
    if (watch != watches_.end()) watch->second->notify();
    return;
  }
  const auto stream = streams_.find(id);
  if (stream == streams_.end()) return;
  if (what == What::kRead && stream->second->read_ready()) stream->second->notify_readable();
  if (what == What::kWrite && stream->second->write_ready()) stream->second->notify_writable();
}

bool SimHost::anything_ready() const {
  if (!posted_.empty() || turn_owed_) return true;
  for (const auto& [id, stream] : streams_) {
    if (stream->read_ready() || stream->write_ready()) return true;
  }
  for (const auto& [id, timer] : timers_) {
    if (timer->due()) return true;
  }
  return false;
}

SimStream::SimStream(SimHost& host, std::shared_ptr<SimConnection> connection,
                     SimConnection::Side side, StreamEvents& events)
    : host_(host),
      id_(++host.ids_),
      connection_(std::move(connection)),
      side_(side),
      events_(events) {
  host_.streams_[id_] = this;
  connection_->attach(side_, this);
}

SimStream::~SimStream() {
  host_.streams_.erase(id_);
  connection_->close(side_, abort_);
}

IoResult SimStream::read(std::span<std::byte> into) {
  CHECK(!into.empty()) << host_.name() << " reads into no room: the kernel would say end of stream";
  return connection_->read(side_, into);
}

IoResult SimStream::write(std::span<const iovec> from) {
  size_t bytes = 0;
  for (const iovec& piece : from) bytes += piece.iov_len;
  CHECK_GT(bytes, 0u) << host_.name() << " writes nothing";
  return connection_->write(side_, from);
}

void SimStream::want_read(bool wanted) {
  want_read_ = wanted;
  again_ = again_ && wanted;
  if (read_ready()) host_.wake();
}

void SimStream::read_again() {
  again_ = true;
  host_.wake();
}

void SimStream::notify_readable() {
  again_ = false;
  events_.on_readable();
}

void SimStream::want_write(bool wanted) {
  want_write_ = wanted;
  if (write_ready()) host_.wake();
}

}  // namespace hat::sim
