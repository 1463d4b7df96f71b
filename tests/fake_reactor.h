// SPDX-License-Identifier: Apache-2.0
// tests/fake_reactor.h: a fake reactor for unit tests: the test advances the clock, supplies the
// bytes that streams read, and checks the bytes that streams write.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/reactor.h"

namespace hat {

// A byte stream whose other end is the test: the test sets the bytes that read() returns, and sees
// the bytes that write() took.
class FakeStream final : public ByteStream {
 public:
  // The test's end of the stream.
  // Members  The test sets some members to control the stream; the stream sets the others when its
  //          functions are called.
  struct Wire {
    std::string address;  // to which connect() connected
    std::string incoming;
    std::string written;
    size_t space = SIZE_MAX;  // how many bytes write() will take in total
    bool end = false;         // the stream ends after `incoming`
    int error = 0;
    int write_error = 0;  // errno of write(); read() still works
    bool reading = false;
    bool writing = false;
    bool again = false;    // read_again() was called
    int acknowledged = 0;  // how often acknowledge_now() was called
    bool shut = false;
    bool aborted = false;
    bool closed = false;
    std::vector<int> descriptors;  // the result of descriptors()
    StreamEvents* events = nullptr;
    std::function<void()> on_write;  // if set, called after each write() that took bytes

    // Calls on_readable(), and repeats it while the called function calls read_again().
    void notify_readable() {
      do {
        again = false;
        events->on_readable();
      } while (again && reading && !closed);
    }
  };

  FakeStream(std::shared_ptr<Wire> wire, StreamEvents& events) : wire_(std::move(wire)) {
    wire_->events = &events;
  }
  ~FakeStream() override { wire_->closed = true; }

  IoResult read(std::span<std::byte> into) override {
    if (wire_->error != 0) return {IoResult::Kind::kError, 0, wire_->error};
    if (wire_->incoming.empty()) {
      return {wire_->end ? IoResult::Kind::kEnd : IoResult::Kind::kWouldBlock};
    }
    const size_t count = std::min(into.size(), wire_->incoming.size());
    std::memcpy(into.data(), wire_->incoming.data(), count);
    wire_->incoming.erase(0, count);
    return {IoResult::Kind::kOk, count};
  }
  IoResult write(std::span<const iovec> from) override {
    if (wire_->error != 0) return {IoResult::Kind::kError, 0, wire_->error};
    if (wire_->write_error != 0) return {IoResult::Kind::kError, 0, wire_->write_error};
    size_t taken = 0;
    for (const iovec& piece : from) {
      const size_t count = std::min(piece.iov_len, wire_->space - taken);
      wire_->written.append(static_cast<const char*>(piece.iov_base), count);
      taken += count;
    }
    wire_->space -= taken;
    if (taken == 0) return {IoResult::Kind::kWouldBlock};
    if (wire_->on_write) wire_->on_write();
    return {IoResult::Kind::kOk, taken};
  }
  void shutdown_write() override { wire_->shut = true; }
  void want_read(bool wanted) override { wire_->reading = wanted; }
  void want_write(bool wanted) override { wire_->writing = wanted; }
  void read_again() override { wire_->again = true; }
  void acknowledge_now() override { ++wire_->acknowledged; }
  void abort_on_close() override { wire_->aborted = true; }
  std::vector<int> descriptors() const override { return wire_->descriptors; }

 private:
  std::shared_ptr<Wire> wire_;
};

class FakeReactor final : public Reactor {
 public:
  TimePoint now() const override { return now_; }
  Duration cpu_time() const override { return cpu_time_; }
  // Lets the thread use processor time, while the clock stands still.
  void use_cpu(Duration time) { cpu_time_ += time; }
  std::unique_ptr<ByteStream> connect(const Address& to, StreamEvents& events) override {
    connected_to.push_back(to);
    wires.push_back(std::make_shared<FakeStream::Wire>());
    wires.back()->address = to_string(to);
    return std::make_unique<FakeStream>(wires.back(), events);
  }
  std::unique_ptr<ByteStream> try_connect(const Address& to, StreamEvents& events,
                                          int& error) override {
    error = refusals.contains(to_string(to)) ? ECONNREFUSED : 0;
    return error == 0 ? connect(to, events) : nullptr;
  }
  std::unique_ptr<ByteStream> resume(std::vector<Descriptor> descriptors,
                                     StreamEvents& events) override {
    wires.push_back(std::make_shared<FakeStream::Wire>());
    for (const Descriptor& one : descriptors) wires.back()->descriptors.push_back(one.get());
    resumed.push_back(std::move(descriptors));
    return std::make_unique<FakeStream>(wires.back(), events);
  }
  std::unique_ptr<Timer> timer(std::function<void()> on_time) override {
    return std::make_unique<FakeTimer>(*this, std::move(on_time));
  }
  std::unique_ptr<Watch> watch(int, std::function<void()>) override { return nullptr; }
  void poll_for(Duration time) override { polled_for.insert(time); }
  void add_iteration_events(IterationEvents& events) override {
    iteration_events_.push_back(&events);
  }
  void remove_iteration_events(IterationEvents& events) override {
    std::erase(iteration_events_, &events);
  }

  // Advances the clock by `by`. Runs the timers that are due, in order of time, and ends an
  // iteration after each timer.
  void advance(Duration by) {
    const TimePoint until = now_ + by;
    for (;;) {
      FakeTimer* next = nullptr;
      for (FakeTimer* timer : timers_) {
        if (timer->when <= until && (next == nullptr || timer->when < next->when)) next = timer;
      }
      if (next == nullptr) break;
      now_ = std::max(now_, next->when);
      next->when = TimePoint::max();
      ++timers_run_;
      next->on_time();
      end_iteration();
    }
    now_ = until;
  }
  // Returns how many timers advance() has run.
  size_t timers_run() const { return timers_run_; }
  void end_iteration() {
    for (IterationEvents* events : iteration_events_) events->on_iteration_end();
  }

  // Returns the record of the thread that runs the event loop. Unless the test sets a thread, the
  // record is empty, and any thread may use the reactor.
  LoopThread& loop_thread() { return loop_thread_; }

  std::set<Duration> polled_for;  // the arguments of poll_for()
  std::vector<Address> connected_to;
  std::set<std::string> refusals;  // addresses at which nobody listens: try_connect() fails
  std::vector<std::vector<Descriptor>> resumed;  // the descriptors of each call of resume()
  std::vector<std::shared_ptr<FakeStream::Wire>> wires;

 private:
  struct FakeTimer final : Timer {
    FakeTimer(FakeReactor& its_reactor, std::function<void()> call)
        : reactor(its_reactor), on_time(std::move(call)) {
      reactor.timers_.push_back(this);
    }
    ~FakeTimer() override { std::erase(reactor.timers_, this); }
    void set(TimePoint at) override { when = at; }
    void cancel() override { when = TimePoint::max(); }

    FakeReactor& reactor;
    std::function<void()> on_time;
    TimePoint when = TimePoint::max();
  };

  TimePoint now_ = TimePoint(std::chrono::hours(1));
  Duration cpu_time_{};
  std::vector<FakeTimer*> timers_;
  size_t timers_run_ = 0;
  std::vector<IterationEvents*> iteration_events_;
};

}  // namespace hat
