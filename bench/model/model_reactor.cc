// SPDX-License-Identifier: Apache-2.0
#include "bench/model/model_reactor.h"

#include <glog/logging.h>

#include <algorithm>
#include <ranges>
#include <utility>

namespace hat::model {

using Side = Connection::Side;

// With rings, a thread that polls looks at the sockets only once in this time, after they were
// quiet.
constexpr Time kAskInterval = std::chrono::microseconds(20);

std::shared_ptr<Connection> Network::connect(Schedule& schedule, Card& card, const Address& to) {
  const auto found = listeners_.find(to_string(to));
  CHECK(found != listeners_.end()) << "nothing listens at " << to_string(to);
  const Listener& listener = found->second;
  auto connection = std::make_shared<Connection>(listener.wire, card, *listener.card);
  schedule.at(schedule.now(), [connection, &listener] { listener.on_connection(connection); });
  return connection;
}

// --- Streams, timers, watches ---

class ModelReactor::ModelStream final : public ByteStream {
 public:
  ModelStream(ModelReactor& reactor, std::shared_ptr<Connection> connection, Side side,
              StreamEvents& events)
      : reactor_(reactor),
        number_(++reactor.numbers_),
        connection_(std::move(connection)),
        side_(side),
        events_(events) {
    reactor_.streams_[number_] = this;
    if (is_ring()) ++reactor_.rings_;
    connection_->use(side_, reactor_.loop_, [this] { reactor_.noted_.insert(number_); });
  }
  ~ModelStream() override {
    reactor_.streams_.erase(number_);
    if (is_ring()) --reactor_.rings_;
    connection_->close(side_);
  }

  IoResult read(std::span<std::byte> into) override {
    if (connection_->ended(side_)) return {IoResult::Kind::kEnd};
    const size_t bytes = connection_->read(side_, into);
    if (bytes == 0) return {IoResult::Kind::kWouldBlock};
    reactor_.charge_relay();
    return {IoResult::Kind::kOk, bytes};
  }
  IoResult write(std::span<const iovec> from) override {
    const size_t bytes = connection_->write(side_, from);
    if (bytes == 0) return {IoResult::Kind::kWouldBlock};
    reactor_.charge_relay();
    return {IoResult::Kind::kOk, bytes};
  }
  void shutdown_write() override { connection_->end_writes(side_); }
  void want_read(bool wanted) override {
    wants_read_ = wanted;
    again_ = again_ && wanted;
    note_if_ready();
  }
  void want_write(bool wanted) override {
    wants_write_ = wanted;
    note_if_ready();
  }
  void read_again() override {
    again_ = true;
    note_if_ready();
  }
  void abort_on_close() override {}

  bool is_ring() const { return connection_->wire() == Wire::kRing; }
  bool is_readable() const { return wants_read_ && (again_ || connection_->readable(side_)); }
  bool is_writable() const { return wants_write_ && connection_->space(side_) != 0; }
  void on_readable() {
    again_ = false;
    events_.on_readable();
  }
  void on_writable() { events_.on_writable(); }
  void note_if_ready() {
    if (is_readable() || is_writable()) reactor_.noted_.insert(number_);
  }

 private:
  ModelReactor& reactor_;
  const uint64_t number_;
  const std::shared_ptr<Connection> connection_;
  const Side side_;
  StreamEvents& events_;
  bool wants_read_ = false;
  bool wants_write_ = false;
  bool again_ = false;
};

class ModelReactor::ModelTimer final : public Timer {
 public:
  ModelTimer(ModelReactor& reactor, std::function<void()> on_time)
      : reactor_(reactor), number_(++reactor.numbers_), on_time_(std::move(on_time)) {
    reactor_.timers_[number_] = this;
  }
  ~ModelTimer() override { reactor_.timers_.erase(number_); }

  void set(TimePoint when) override {
    when_ = when;
    reactor_.loop_.machine().schedule().at(
        when.time_since_epoch(),
        [&reactor = reactor_, number = number_] { reactor.note_timer(number); });
  }
  void cancel() override { when_ = TimePoint::max(); }
  bool is_due() const { return when_ <= reactor_.now(); }
  void ring() {
    when_ = TimePoint::max();
    on_time_();
  }

 private:
  ModelReactor& reactor_;
  const uint64_t number_;
  const std::function<void()> on_time_;
  TimePoint when_ = TimePoint::max();
};

class ModelReactor::ModelWatch final : public Watch {
 public:
  ModelWatch(ModelReactor& reactor, std::function<void()> on_readable)
      : reactor_(reactor), on_readable_(std::move(on_readable)) {
    reactor_.watches_.push_back(this);
  }
  ~ModelWatch() override { std::erase(reactor_.watches_, this); }
  void notify() { on_readable_(); }

 private:
  ModelReactor& reactor_;
  const std::function<void()> on_readable_;
};

// --- The reactor ---

ModelReactor::ModelReactor(Machine& machine, Card& card, Network& network)
    : card_(card), network_(network), loop_(machine, *this) {}

ModelReactor::~ModelReactor() = default;

void ModelReactor::post(std::function<void()> work) {
  posted_.push_back(std::move(work));
  loop_.wake();
}

void ModelReactor::accept(const std::shared_ptr<Connection>& connection,
                          std::function<void(const ListenerEvents::Accept&)> on_connection) {
  post([this, connection, on_connection = std::move(on_connection)] {
    on_connection([this, connection](StreamEvents& events) {
      return std::make_unique<ModelStream>(*this, connection, Side::kServer, events);
    });
  });
}

std::unique_ptr<ByteStream> ModelReactor::connect(const Address& to, StreamEvents& events) {
  return std::make_unique<ModelStream>(
      *this, network_.connect(loop_.machine().schedule(), card_, to), Side::kClient, events);
}

std::unique_ptr<ByteStream> ModelReactor::resume(std::vector<Descriptor>, StreamEvents&) {
  LOG(FATAL) << "a modelled connection has no descriptors";
}

std::unique_ptr<Timer> ModelReactor::timer(std::function<void()> on_time) {
  return std::make_unique<ModelTimer>(*this, std::move(on_time));
}

std::unique_ptr<Watch> ModelReactor::watch(int, std::function<void()> on_readable) {
  return std::make_unique<ModelWatch>(*this, std::move(on_readable));
}

void ModelReactor::charge_relay() { loop_.charge(loop_.machine().hardware().relay); }

void ModelReactor::poll_for(Duration time) {
  ++polled_;
  found_work(time);
}

// Wakes the thread for a timer, unless it was canceled or set to a later time.
void ModelReactor::note_timer(uint64_t number) {
  const auto timer = timers_.find(number);
  if (timer == timers_.end() || !timer->second->is_due()) return;
  due_timers_.insert(number);
  loop_.wake();
}

void ModelReactor::found_work(Duration then_polls_for) {
  constexpr Duration kOnePoll(1);
  found_ = true;
  polling_.extend(std::max(then_polls_for, kOnePoll));
}

// Returns true if the iteration looks at the sockets, which is a system call.
bool ModelReactor::asks_kernel() {
  constexpr uint32_t kQuietPolls = 64;
  if (rings_ != 0 && ++quiet_polls_ >= kQuietPolls && loop_.now() - asked_kernel_ < kAskInterval) {
    return false;
  }
  asked_kernel_ = loop_.now();
  return true;
}

Then ModelReactor::iterate() {
  const Hardware& hardware = loop_.machine().hardware();
  polling_.begin_step(noted_.size() + due_timers_.size() + posted_.size() +
                      std::exchange(polled_, size_t{0}));
  found_ = false;
  const bool asks = asks_kernel();
  loop_.charge(hardware.iteration + (asks ? hardware.poll_sockets : Time(0)));
  dispatch(asks);
  for (IterationEvents* events : std::vector(events_)) events->on_iteration_end();
  if (found_ || !posted_.empty()) return Then::kMore;
  if (polling_.again()) {
    if (!noted_.empty()) {  // sockets, at which the thread looks later
      loop_.machine().schedule().at(asked_kernel_ + kAskInterval, [this] { loop_.poke(false); });
    }
    return Then::kYield;
  }
  if (!noted_.empty()) {  // the system call to sleep returns at once
    asked_kernel_ = {};
    return Then::kMore;
  }
  bool sleeps = true;  // may_sleep() also arms the handler's wake-up, so all are called
  for (IterationEvents* events : std::vector(events_)) sleeps &= events->may_sleep();
  if (!sleeps) return Then::kMore;
  loop_.charge(hardware.sleep_call);
  return Then::kSleep;
}

// Calls what has an event; sockets only if `asks`.
void ModelReactor::dispatch(bool asks) {
  for (ModelWatch* watch : std::vector(watches_)) {
    if (std::ranges::find(watches_, watch) != watches_.end()) watch->notify();
  }
  for (const auto& work : std::exchange(posted_, {})) {
    found_work({});
    work();
  }
  for (const uint64_t number : std::exchange(due_timers_, {})) {
    const auto timer = timers_.find(number);
    if (timer == timers_.end() || !timer->second->is_due()) continue;
    found_work({});
    timer->second->ring();
  }
  for (const uint64_t number : std::exchange(noted_, {})) {
    const auto is_open = [&] { return streams_.contains(number); };
    if (!is_open()) continue;
    ModelStream& stream = *streams_[number];
    if (!stream.is_ring()) {
      if (!asks) {
        noted_.insert(number);
        continue;
      }
      quiet_polls_ = 0;
      loop_.charge(loop_.machine().hardware().socket_event);
    }
    if (stream.is_readable()) {
      found_work({});
      stream.on_readable();
    }
    if (is_open() && stream.is_writable()) {
      found_work({});
      stream.on_writable();
    }
    if (is_open()) stream.note_if_ready();
  }
}

}  // namespace hat::model
