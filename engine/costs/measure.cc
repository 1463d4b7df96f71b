// SPDX-License-Identifier: Apache-2.0
#include "engine/costs/measure.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace hat::engine {
namespace {

using Clock = std::chrono::steady_clock;

// The first byte of a message. It says what the answering side must do in addition to sending the
// message back.
enum class Ask : uint8_t {
  kEcho,
  kPoll,        // poll for messages from now on
  kSleep,       // sleep from now on while no message has arrived
  kTakeEvents,  // read the fabric's events
  kEnd,
};

// The minimum number of samples of one cost. Three samples are enough if nine would take more than
// ten times MeasureOptions::each.
constexpr size_t kSamplesMin = 9;
constexpr size_t kSamplesMax = 20'000;
// The minimum duration of one sample, so long that the time for reading the clock hardly counts.
constexpr auto kSample = std::chrono::microseconds(5);

double ns(Clock::duration took) { return std::chrono::duration<double, std::nano>(took).count(); }

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  return *middle;
}

// Returns the median time in nanoseconds of the operation `once`, which returns an
// expected<…, Status>. If the operation is fast, one sample times several operations.
template <class Once>
std::expected<double, Status> time_of(std::chrono::nanoseconds each, const Once& once) {
  const auto warm = Clock::now();
  for (int i = 0; i < 8; ++i) {
    HAT_TRY_VOID(once());
  }
  const auto about = (Clock::now() - warm) / 8;
  const auto batch = std::clamp<int64_t>(kSample / std::max(about, Clock::duration(1)), 1, 64);
  const auto begin = Clock::now();
  std::vector<double> samples;
  for (auto now = begin; samples.size() < kSamplesMax;) {
    const auto enough = samples.size() < 3             ? Clock::duration::max()
                        : samples.size() < kSamplesMin ? 10 * each
                                                       : Clock::duration(each);
    if (now - begin > enough) break;
    for (int64_t i = 0; i < batch; ++i) {
      HAT_TRY_VOID(once());
    }
    const auto last = std::exchange(now, Clock::now());
    samples.push_back(ns(now - last) / double(batch));
  }
  return median(std::move(samples));
}

class Measurement {
 public:
  Measurement(Initiator& initiator, const MeasureOptions& options)
      : initiator_(initiator), options_(options) {}

  Result<ComponentCosts> run() {
    costs_.fabric = initiator_.fabric().name();
    HAT_TRY_VOID(transfers());
    HAT_TRY_VOID(atomics());
    HAT_TRY_VOID(messages());
    HAT_TRY_VOID(wake_up());
    HAT_TRY_VOID(registrations());
    copies();
    if (const auto ended = ask(Ask::kEnd); !ended) {
      return fail(ErrorCode::kUnavailable,
                  "the other side cannot be notified that the measurement has ended: " +
                      std::string(text(ended.error())));
    }
    return costs_;
  }

 private:
  static Result<void> result_of(const std::expected<void, Status>& done, const std::string& what) {
    if (done) return {};
    return fail(ErrorCode::kUnavailable,
                "the cost of " + what + " cannot be measured: " + std::string(text(done.error())));
  }

  // Measures the operation `once` and stores its cost in `to`. `what` names the operation in
  // errors.
  template <class Once>
  Result<void> time(const std::string& what, double& to, const Once& once) {
    if (options_.stop.stop_requested())
      return fail(ErrorCode::kStopped, "stopped on request before measuring the cost of " + what);
    const auto took = time_of(options_.each, once);
    if (!took) return result_of(std::unexpected(took.error()), what);
    to = *took;
    return {};
  }

  std::expected<void, Status> ask(Ask what, size_t bytes = 8) {
    initiator_.request()[0] = static_cast<std::byte>(what);
    HAT_TRY([[maybe_unused]] const auto reply, initiator_.call(bytes));
    return {};
  }

  Result<void> transfers() {
    const uint64_t most = std::min<uint64_t>(initiator_.target_bytes(), initiator_.local().size());
    for (const uint32_t bytes : options_.transfer_bytes) {
      if (bytes > most) continue;
      double cost = 0;
      HAT_TRY_VOID(time("put", cost, [&] { return initiator_.put(0, bytes); }));
      costs_.put.push_back({bytes, cost});
      HAT_TRY_VOID(time("get", cost, [&] { return initiator_.get(0, bytes); }));
      costs_.get.push_back({bytes, cost});
    }
    return {};
  }

  Result<void> atomics() {
    if (initiator_.fabric().limits().atomics == Atomicity::kNone) return {};
    HAT_TRY_VOID(time("compare-and-swap", costs_.compare_swap_ns,
                      [&] { return initiator_.compare_swap(0, 0, 0); }));
    return time("fetch-and-add", costs_.fetch_add_ns, [&] { return initiator_.fetch_add(64, 1); });
  }

  Result<void> messages() {
    for (const uint32_t bytes : options_.message_bytes) {
      if (bytes > initiator_.request().size()) continue;
      double cost = 0;
      HAT_TRY_VOID(time("message", cost, [&] { return ask(Ask::kEcho, bytes); }));
      costs_.message.push_back({bytes, cost});
    }
    return {};
  }

  // Measures the cost of a wake-up: the difference between the time of a message to a side that
  // sleeps and the time of the same message to a side that polls. A pause before each message lets
  // the other side fall asleep.
  Result<void> wake_up() {
    std::array<double, 2> costs{};
    for (const Ask way : {Ask::kPoll, Ask::kSleep}) {
      if (options_.stop.stop_requested())
        return fail(ErrorCode::kStopped,
                    "stopped on request before measuring the cost of a wake-up");
      HAT_TRY_VOID(result_of(ask(way), "wake-up"));
      std::vector<double> samples;
      const auto end = Clock::now() + options_.each;
      while (samples.size() < kSamplesMin || Clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        const auto begin = Clock::now();
        HAT_TRY_VOID(result_of(ask(Ask::kEcho), "wake-up"));
        samples.push_back(ns(Clock::now() - begin));
      }
      costs[way == Ask::kSleep] = median(std::move(samples));
    }
    costs_.wake_up_ns = std::max(0.0, costs[1] - costs[0]);
    return result_of(ask(Ask::kPoll), "wake-up");
  }

  Result<void> registrations() {
    for (const uint32_t bytes : options_.registration_bytes) {
      if (options_.stop.stop_requested())
        return fail(ErrorCode::kStopped,
                    "stopped on request before measuring the cost of memory registration");
      HAT_TRY(const SharedMemory memory, SharedMemory::create("hatrpc-registered", bytes));
      std::ranges::fill(memory.bytes(), std::byte{1});
      std::vector<double> samples;
      for (size_t i = 0; i < kSamplesMin; ++i) {
        const auto begin = Clock::now();
        const auto region =
            initiator_.fabric().register_memory(memory, {.write = true, .read = true});
        // The fabric refuses to register this size. The costs of the smaller sizes are the result.
        if (!region) return {};
        samples.push_back(ns(Clock::now() - begin));
        // On the fabric `loop`, the other side gets an event for each registration, and must read
        // these events before too many of them arrive.
        HAT_TRY_VOID(result_of(ask(Ask::kTakeEvents), "registration"));
      }
      costs_.registration.push_back({bytes, median(std::move(samples))});
    }
    return {};
  }

  // Measures copies between two buffers that are larger than the cache of one core.
  void copies() {
    constexpr size_t kRing = 8 << 20;
    std::vector<std::byte> from(kRing, std::byte{1});
    std::vector<std::byte> to(kRing, std::byte{2});
    for (const uint32_t bytes : options_.copy_bytes) {
      size_t at = 0;
      const auto took = time_of(options_.each, [&]() -> std::expected<void, Status> {
        std::memcpy(to.data() + at, from.data() + at, bytes);
        // Advances by the copied bytes and one more page, so that the next copy uses other cache
        // lines.
        at = (at + bytes + 4096) % (kRing - bytes);
        return {};
      });
      costs_.copy.push_back({bytes, *took});
    }
  }

  Initiator& initiator_;
  const MeasureOptions& options_;
  ComponentCosts costs_;
};

}  // namespace

Result<ComponentCosts> measure_costs(Initiator& initiator, const MeasureOptions& options) {
  return Measurement(initiator, options).run();
}

Result<void> answer_costs(Target& target, std::chrono::nanoseconds patience,
                          const std::stop_token& stop) {
  Ask last = Ask::kEcho;
  bool sleeps = false;
  const CallHandler handler = [&](std::span<const std::byte> request, std::span<std::byte> reply) {
    last = request.empty() ? Ask::kEcho : static_cast<Ask>(request[0]);
    if (last == Ask::kPoll || last == Ask::kSleep) sleeps = last == Ask::kSleep;
    if (last == Ask::kTakeEvents) target.take_events();
    std::ranges::copy(request, reply.begin());
    return request.size();
  };
  constexpr uint32_t kPollsPerClock = 4096;
  auto end = Clock::now() + patience;
  bool heard = false;
  for (uint32_t polls = 1; last != Ask::kEnd; ++polls) {
    heard |= 0 != (sleeps ? target.poll_or_sleep(handler, std::chrono::milliseconds(100))
                          : target.poll(handler));
    if (last != Ask::kEnd && target.lost() != 0)
      return fail(ErrorCode::kClosed, "the side that measures the costs has disconnected");
    if (!sleeps && polls % kPollsPerClock != 0) continue;
    if (!sleeps) std::this_thread::yield();
    if (stop.stop_requested()) return fail(ErrorCode::kStopped, "stopped on request");
    const auto now = Clock::now();
    if (std::exchange(heard, false)) end = now + patience;
    if (now > end)
      return fail(ErrorCode::kUnavailable,
                  "the side that measures the costs sent nothing within the time-out");
  }
  return {};
}

}  // namespace hat::engine
