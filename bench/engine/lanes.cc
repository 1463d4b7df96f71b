// SPDX-License-Identifier: Apache-2.0
// bench/engine/lanes.cc: measures calls and one-way messages over RDMA lanes, as in HatRPC (SC'21),
// Figures 4 and 5, and HiPower (NPC'19), section 4.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "base/rounded.h"
#include "bench/account.h"
#include "bench/account_json.h"
#include "bench/engine/idle_policy.h"
#include "bench/engine/lane_options.h"
#include "bench/engine/measure.h"
#include "bench/engine/two.h"
#include "engine/fabric/sleep.h"
#include "engine/rdma/lane_memory.h"
#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::bench {
namespace {

using namespace engine;
using Clock = std::chrono::steady_clock;

constexpr size_t kLargestSample = 1 << 20;  // the highest number of latencies that are kept

// The lanes of one of the two processes, and the loop that polls these lanes and sleeps according
// to the polling mode.
class Side {
 public:
  Side(const Settings& settings, const Wire& wire, bool server)
      : idle_(settings.polling, std::chrono::microseconds(50),
              cores_are_short(2, std::thread::hardware_concurrency() / 2 + 1)),
        fabric_(must(open_fabric(settings.fabric, server))) {
    const RdmaLaneOptions options = lane_options(settings, server);
    const LanePlan plan{options, settings.clients};
    arena_ = must(Arena::create(*fabric_, arena_for({&plan, 1}, settings.bytes).arena));
    poller_ = must(Poller::create(*fabric_, *arena_));
    for (uint32_t i = 0; i < settings.clients; ++i) {
      ends_.push_back(std::make_unique<End>(*this, i));
      End& end = *ends_.back();
      end.lane = must(RdmaLane::create(*poller_, options, end));
      must(end.lane->connect(wire.exchange(end.lane->offer())));
    }
    wire.exchange('r');
    events();
  }

  Fabric& fabric() { return *fabric_; }
  RdmaLane& lane(size_t i) { return *ends_[i]->lane; }
  size_t count() const { return ends_.size(); }
  bool down() const { return down_; }
  // Ends the program with an error if a lane went down, because this makes the measurement invalid.
  void must_be_up() const {
    if (!down_) return;
    std::fprintf(stderr, "engine_bench: a lane went down: %s\n", why_down_.c_str());
    std::exit(1);
  }

  // Polls once. If the poll finds nothing, returns, yields or sleeps according to the polling mode.
  // Returns false after 100,000 polls that found nothing: the caller must then check whether the
  // other process has ended.
  bool step() {
    // Handle the fabric's events now and then even if the lanes are busy, because a lane that
    // connects late is reported by an event.
    if (++steps_ % 1024 == 0) events();
    const size_t found = poller_->poll();
    for (const auto& end : ends_) end->lane->flush();
    if (found != 0) {
      idle_.found();
      quiet_ = 0;
      return true;
    }
    switch (idle_.idle()) {
      case Idle::kPoll:
        break;
      case Idle::kYield:
        sched_yield();
        break;
      case Idle::kSleep:
        if (!poller_->prepare_to_sleep()) break;
        for (const auto& end : ends_) end->lane->flush();
        sleep_on({poller_->event_fd(), fabric_->event_fd()}, std::chrono::milliseconds(200));
        poller_->take_events();
        idle_.found();
        events();
        return true;
    }
    if (++quiet_ < 100'000) return true;
    quiet_ = 0;
    events();
    return false;
  }

  std::function<void(size_t lane, const FrameHeader&, Bytes)> on_frame;

  void events() {
    while (const auto event = fabric_->next_event()) poller_->on_event(*event);
  }

 private:
  struct End final : LaneEvents {
    End(Side& of, size_t its_index) : side(of), index(its_index) {}
    void on_frame(const FrameHeader& header, Bytes payload) override {
      side.on_frame(index, header, payload);
    }
    void on_down(const std::string& reason) override {
      side.down_ = true;
      side.why_down_ = reason;
    }
    Side& side;
    const size_t index;
    std::unique_ptr<RdmaLane> lane;
  };

  IdlePolicy idle_;
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Poller> poller_;
  std::vector<std::unique_ptr<End>> ends_;
  uint64_t steps_ = 0;
  uint64_t quiet_ = 0;
  bool down_ = false;
  std::string why_down_;
};

// Sends payloads from several buffers in turn. The lane copies each payload, or borrows it (a
// zero-copy send) if settings.zero_copy is set.
class Payloads {
 public:
  Payloads(const Settings& settings, Fabric& fabric)
      : bytes_(settings.bytes),
        memory_(must(SharedMemory::create("hatrpc-payloads", kBuffers * settings.bytes + 1))) {
    std::ranges::fill(memory_.bytes(), std::byte{7});
    if (settings.zero_copy) region_ = must(fabric.register_memory(memory_, {.read = true}));
  }
  void send(RdmaLane& lane, const FrameHeader& header) const {
    const auto payload = memory_.bytes().subspan(next_++ % kBuffers * bytes_, bytes_);
    if (region_) {
      lane.send_zero_copy(header, range_of(*region_, payload));
    } else {
      lane.send(header, {payload});
    }
  }

 private:
  // At least the slots of one lane. Several lanes can borrow a buffer at once, which is harmless,
  // because nothing writes to the buffers after the constructor.
  static constexpr size_t kBuffers = 64;
  const size_t bytes_;
  SharedMemory memory_;
  std::unique_ptr<MemoryRegion> region_;  // nullptr: the lane copies
  mutable size_t next_ = 0;
};

const char* name(Polling polling) {
  constexpr const char* kNames[] = {"busy", "event", "adaptive"};
  return kNames[static_cast<size_t>(polling)];
}

void serve(const Settings& settings, const Wire& wire) {
  Side side(settings, wire, true);
  uint64_t taken = 0;
  side.on_frame = [&](size_t lane, const FrameHeader& header, Bytes payload) {
    ++taken;
    if (header.replies == 0) return;
    side.lane(lane).send(
        {.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = header.call},
        {payload});
  };
  while (!side.down()) {
    if (!side.step() && wire.ended()) return;
    if (settings.polling != Polling::kBusy && wire.ended()) return;
  }
}

// Returns the fields with which every result begins.
nlohmann::ordered_json settings_json(const char* measurement, const Settings& settings) {
  return {{"measurement", measurement},          {"fabric", settings.fabric},
          {"protocol", settings.protocol->name}, {"bytes", settings.bytes},
          {"clients", settings.clients},         {"polling", name(settings.polling)}};
}

}  // namespace

namespace {

// Makes calls with one client per lane and one call at a time per client. The constructor returns
// after each client has got one answer.
class Callers {
 public:
  Callers(Side& side, size_t bytes, std::vector<float>& latencies)
      : side_(side),
        payload_(bytes, std::byte{7}),
        latencies_(latencies),
        clients_(side.count()),
        unanswered_(side.count()) {
    side_.on_frame = [this](size_t lane, const FrameHeader&, Bytes) { answered(lane); };
    for (size_t lane = 0; lane < clients_.size(); ++lane) call(lane);
    while (unanswered_ != 0 && !side_.down()) {
      side_.step();
      side_.events();
    }
  }

  void run_for(double span) {
    const auto end = Clock::now() + std::chrono::duration<double>(span);
    while (Clock::now() < end && !side_.down()) {
      for (int i = 0; i < 64; ++i) side_.step();
    }
  }

  // Begins the measured window. Calls are counted (bench/account.h) until stop().
  void begin_window() { window_ = {.begin = Clock::now()}; }

  // Ends the measured window, and waits until all calls in flight have ended. Returns the window's
  // length in seconds.
  double stop() {
    window_.end = Clock::now();
    while (out_ != 0 && !side_.down()) side_.step();
    return std::chrono::duration<double>(window_.end - window_.begin).count();
  }

  Account account() {
    Account all;
    for (Caller& client : clients_) {
      client.account.close();
      all.add(client.account);
    }
    return all;
  }

 private:
  struct Caller {
    Clock::time_point begun;  // when the client's last call began
    Clock::time_point ended;
    bool answered = false;
    Account account;
  };

  void call(size_t lane) {
    ++out_;
    clients_[lane].begun = Clock::now();
    side_.lane(lane).send({.kind = FrameKind::kCall,
                           .flags = kLastPiece,
                           .replies = 1,
                           .stream = 1,
                           .call = ++calls_},
                          {payload_});
  }

  void answered(size_t lane) {
    --out_;
    const auto now = Clock::now();
    Caller& client = clients_[lane];
    const auto time = client.account.add_call(window_, client.ended, client.begun, now);
    if (time && latencies_.size() < kLargestSample) {
      latencies_.push_back(std::chrono::duration<float, std::micro>(*time).count());
    }
    client.ended = now;
    if (!std::exchange(client.answered, true)) --unanswered_;
    if (window_.end == Clock::time_point::max()) call(lane);
  }

  Side& side_;
  const std::vector<std::byte> payload_;
  std::vector<float>& latencies_;
  std::vector<Caller> clients_;
  size_t unanswered_;                                 // clients that have not got any answer yet
  Window window_{.begin = Clock::time_point::max()};  // during the warm-up, no call counts
  uint64_t calls_ = 0;
  uint64_t out_ = 0;
};

}  // namespace

void measure_calls(const Settings& settings) {
  if (settings.fabric == "model") return model_calls(settings);
  std::vector<float> latencies;
  latencies.reserve(kLargestSample);
  Account account;
  double seconds = 0;
  double client_cpu = 0;
  const double server_cpu = run_two(
      [&](const Wire& wire) {
        Side side(settings, wire, false);
        Callers callers(side, settings.bytes, latencies);
        callers.run_for(settings.seconds * 0.2);
        callers.begin_window();
        const double cpu = cpu_seconds();
        callers.run_for(settings.seconds);
        client_cpu = cpu_seconds() - cpu;
        seconds = callers.stop();
        account = callers.account();
        side.must_be_up();
      },
      [&](const Wire& wire) { serve(settings, wire); });
  std::ranges::sort(latencies);
  const double n = std::max<double>(1, double(account.ended));
  nlohmann::ordered_json result = settings_json("calls", settings);
  // Divide the server's CPU time by 1.2, because it includes the warm-up (20 % of the window).
  result.update({{"calls", account.ended},
                 {"calls_per_second", rounded(double(account.ended) / seconds, 0)},
                 {"p50_us", rounded(percentile(latencies, 0.5), 3)},
                 {"p99_us", rounded(percentile(latencies, 0.99), 3)},
                 {"client_cpu_us_per_call", rounded(client_cpu * 1e6 / n, 3)},
                 {"server_cpu_us_per_call", rounded(server_cpu * 1e6 / (n * 1.2), 3)}});
  result.update(account_json(account));
  std::puts(result.dump().c_str());
}

void measure_oneway(const Settings& settings) {
  if (settings.fabric == "model") return model_oneway(settings);
  uint64_t messages = 0;
  double seconds = 0;
  double client_cpu = 0;
  const double server_cpu = run_two(
      [&](const Wire& wire) {
        Side side(settings, wire, false);
        side.on_frame = [](size_t, const FrameHeader&, Bytes) {};
        const Payloads payloads(settings, side.fabric());
        const auto send_for = [&](double span) {
          const auto end = Clock::now() + std::chrono::duration<double>(span);
          uint64_t sent = 0;
          while (Clock::now() < end && !side.down()) {
            for (size_t lane = 0; lane < side.count(); ++lane) {
              for (int i = 0; i < 16 && side.lane(lane).takes_more(); ++i, ++sent) {
                payloads.send(
                    side.lane(lane),
                    {.kind = FrameKind::kCall, .flags = kLastPiece, .stream = 1, .call = 1 + sent});
              }
            }
            side.step();
          }
          return sent;
        };
        send_for(settings.seconds * 0.2);
        const auto begin = Clock::now();
        const double cpu = cpu_seconds();
        messages = send_for(settings.seconds);
        seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        client_cpu = cpu_seconds() - cpu;
        for (size_t lane = 0; lane < side.count(); ++lane) side.lane(lane).settle();
        for (size_t lane = 0; lane < side.count(); ++lane) {
          while (!side.lane(lane).idle() && !side.down()) side.step();
        }
        side.must_be_up();
      },
      [&](const Wire& wire) { serve(settings, wire); });
  const double n = std::max<double>(1, double(messages));
  const double gigabytes = double(messages) * double(settings.bytes) * 1e-9;
  nlohmann::ordered_json result = settings_json("oneway", settings);
  result.update({{"lends", settings.zero_copy},
                 {"confirm_each", settings.confirm_each},
                 {"messages_per_second", rounded(double(messages) / seconds, 0)},
                 {"gigabytes_per_second", rounded(gigabytes / seconds, 3)},
                 {"client_cpu_us_per_message", rounded(client_cpu * 1e6 / n, 4)},
                 {"server_cpu_us_per_message", rounded(server_cpu * 1e6 / (n * 1.2), 4)}});
  std::puts(result.dump().c_str());
}

}  // namespace hat::bench
