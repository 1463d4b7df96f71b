// SPDX-License-Identifier: Apache-2.0
#include "engine/costs/measure.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/printable.h"
#include "engine/costs/echo_lanes.h"

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
  kMakeLanes,  // make lanes for calls; answered by kLanes or kFailed, and by an older version with
               // the same message
  kLanes,
  kFailed,    // with the reason as text
  kEndLanes,  // answered by kFailed if the lanes have ended before
};

// A message kMakeLanes or kLanes has the number of its layout, and the offers of the lanes. Another
// number means that the lanes of the two versions do not fit each other.
constexpr size_t kLayoutAt = 1;
constexpr std::byte kLayout{1};
constexpr size_t kOffersAt = 8;
constexpr size_t kLanesBytes = kOffersAt + sizeof(EchoLanes::Offers);

EchoLanes::Offers offers_in(std::span<const std::byte> message) {
  EchoLanes::Offers offers;
  std::memcpy(&offers, message.data() + kOffersAt, sizeof offers);
  return offers;
}

void put_lanes(std::span<std::byte> message, Ask what, const EchoLanes::Offers& offers) {
  std::ranges::fill(message.first(kOffersAt), std::byte{0});
  message[0] = static_cast<std::byte>(what);
  message[kLayoutAt] = kLayout;
  std::memcpy(message.data() + kOffersAt, &offers, sizeof offers);
}

// The minimum number of samples of one cost. Three samples are enough if nine would take more than
// ten times MeasureOptions::each.
constexpr size_t kSamplesMin = 9;
constexpr size_t kSamplesMax = 20'000;
// The minimum duration of one sample, so long that the time for reading the clock hardly counts.
constexpr auto kSample = std::chrono::microseconds(5);
constexpr size_t kCallRounds = 3;
// A call that takes longer fails, and so do calls that take longer together. The other side waits
// for the next message at least as long as the first of these.
constexpr auto kCallPatience = std::chrono::seconds(5);
constexpr auto kCallsPatience = std::chrono::seconds(15);
constexpr size_t kReasonBytesMax = 256;

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
    HAT_TRY_VOID(calls());
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

  // Measures the calls of several callers. If this fails, the other costs are worth having all the
  // same: the result then has the reason.
  Result<void> calls() {
    if (options_.call_bytes.empty()) return {};
    const Result<void> measured = measured_calls();
    if (measured) return {};
    if (measured.error().code == ErrorCode::kStopped) return measured;
    costs_.pushed_calls.clear();
    costs_.fetched_calls.clear();
    costs_.no_calls = measured.error().message;
    return {};
  }

  Result<void> measured_calls() {
    if (initiator_.fabric().limits().reads_max == 0) {
      return fail(ErrorCode::kUnsupported, "the fabric has no READs");
    }
    HAT_TRY(const auto lanes, EchoLanes::create(initiator_.fabric(), EchoLanes::Side::kCalls));
    HAT_TRY_VOID(join(*lanes));
    const Result<void> measured = calls_on(*lanes);
    if (!measured && measured.error().code == ErrorCode::kStopped) return measured;
    initiator_.request()[0] = static_cast<std::byte>(Ask::kEndLanes);
    HAT_TRY_VOID(answer_to(8));
    return measured;
  }

  // Measures each kind of replies several times in turn, so that other work of the hosts affects
  // both alike.
  Result<void> calls_on(EchoLanes& lanes) {
    const auto latest = Clock::now() + kCallsPatience;
    for (const uint32_t bytes : options_.call_bytes) {
      std::vector<double> pushed;
      std::vector<double> fetched;
      for (size_t round = 0; round < kCallRounds; ++round) {
        for (const auto replies : {EchoLanes::Replies::kPushed, EchoLanes::Replies::kFetched}) {
          HAT_TRY_VOID(result_of(ask(Ask::kEcho), "calls"));  // so that the other side waits on
          const std::chrono::nanoseconds left = latest - Clock::now();
          HAT_TRY(const double took,
                  lanes.call(replies,
                             {.bytes = bytes,
                              .time = 2 * options_.each,
                              .patience = std::min<std::chrono::nanoseconds>(kCallPatience, left),
                              .stop = options_.stop}));
          (replies == EchoLanes::Replies::kPushed ? pushed : fetched).push_back(took);
        }
      }
      costs_.pushed_calls.push_back({bytes, median(std::move(pushed))});
      costs_.fetched_calls.push_back({bytes, median(std::move(fetched))});
    }
    return {};
  }

  // Connects the lanes with those that the other side makes.
  Result<void> join(EchoLanes& lanes) {
    CHECK_GE(initiator_.request().size(), kLanesBytes);
    put_lanes(initiator_.request(), Ask::kMakeLanes, lanes.offers());
    HAT_TRY(const auto answer, answer_to(kLanesBytes));
    if (static_cast<Ask>(answer[0]) != Ask::kLanes || answer.size() != kLanesBytes ||
        answer[kLayoutAt] != kLayout) {
      return fail(ErrorCode::kUnsupported,
                  "the other side's version does not answer calls for a measurement");
    }
    return lanes.connect(offers_in(answer));
  }

  // Sends the first `bytes` of the request. Returns a copy of the answer, which is not empty. An
  // answer kFailed is an error.
  Result<std::vector<std::byte>> answer_to(size_t bytes) {
    const auto reply = initiator_.call(bytes);
    if (!reply) return std::unexpected(result_of(std::unexpected(reply.error()), "calls").error());
    std::vector<std::byte> answer(reply->begin(), reply->end());
    if (answer.empty()) return fail(ErrorCode::kProtocol, "the other side sent an empty answer");
    if (static_cast<Ask>(answer[0]) != Ask::kFailed) return answer;
    const std::string_view why(reinterpret_cast<const char*>(answer.data()) + 1, answer.size() - 1);
    return fail(ErrorCode::kUnavailable, "the other side: " + printable(why, kReasonBytesMax));
  }

  Initiator& initiator_;
  const MeasureOptions& options_;
  ComponentCosts costs_;
};

// The side that answers.
class Answers {
 public:
  explicit Answers(Target& target) : target_(target) {}

  // Answers the messages and calls that have arrived. Returns true if there was a message.
  bool poll() {
    if (lanes_) {
      const Result<void> step = lanes_->step(kLaneSleep);
      if (!step) end_lanes(step.error().message);
    }
    return 0 != (sleeps_ ? target_.poll_or_sleep(handler_, std::chrono::milliseconds(100))
                         : target_.poll(handler_));
  }
  bool sleeps() const { return sleeps_ || lanes_; }
  bool ended() const { return last_ == Ask::kEnd; }

 private:
  // While there are lanes, messages wait for at most this time.
  static constexpr auto kLaneSleep = std::chrono::milliseconds(5);

  size_t answer(std::span<const std::byte> request, std::span<std::byte> reply) {
    last_ = request.empty() ? Ask::kEcho : static_cast<Ask>(request[0]);
    if (last_ == Ask::kPoll || last_ == Ask::kSleep) sleeps_ = last_ == Ask::kSleep;
    if (last_ == Ask::kTakeEvents) target_.take_events();
    if (last_ == Ask::kMakeLanes && std::min(request.size(), reply.size()) >= kLanesBytes) {
      return make_lanes(request, reply);
    }
    if (last_ == Ask::kEndLanes) {
      if (!lanes_) return put_failure(reply);
      end_lanes("");
    }
    std::ranges::copy(request, reply.begin());
    return request.size();
  }

  size_t make_lanes(std::span<const std::byte> request, std::span<std::byte> reply) {
    end_lanes("");
    const auto made = [&]() -> Result<void> {
      if (request[kLayoutAt] != kLayout) {
        return fail(ErrorCode::kUnsupported, "the lanes of this version are others");
      }
      HAT_TRY(lanes_, EchoLanes::create(target_.fabric(), EchoLanes::Side::kAnswers));
      return lanes_->connect(offers_in(request));
    }();
    if (!made) {
      end_lanes(made.error().message);
      return put_failure(reply);
    }
    put_lanes(reply, Ask::kLanes, lanes_->offers());
    return kLanesBytes;
  }

  void end_lanes(const std::string& why) {
    lanes_.reset();
    why_ended_ = why.substr(0, kReasonBytesMax);
  }

  size_t put_failure(std::span<std::byte> reply) const {
    const size_t bytes = std::min(why_ended_.size(), reply.size() - 1);
    reply[0] = static_cast<std::byte>(Ask::kFailed);
    std::memcpy(reply.data() + 1, why_ended_.data(), bytes);
    return 1 + bytes;
  }

  Target& target_;
  Ask last_ = Ask::kEcho;
  bool sleeps_ = false;
  std::unique_ptr<EchoLanes> lanes_;
  std::string why_ended_;  // the lanes, if they ended by themselves
  const CallHandler handler_ = [this](auto request, auto reply) { return answer(request, reply); };
};

}  // namespace

Result<ComponentCosts> measure_costs(Initiator& initiator, const MeasureOptions& options) {
  return Measurement(initiator, options).run();
}

Result<void> answer_costs(Target& target, std::chrono::nanoseconds patience,
                          const std::stop_token& stop) {
  Answers answers(target);
  constexpr uint32_t kPollsPerClock = 4096;
  auto end = Clock::now() + patience;
  bool heard = false;
  for (uint32_t polls = 1; !answers.ended(); ++polls) {
    heard |= answers.poll();
    if (!answers.ended() && target.lost() != 0)
      return fail(ErrorCode::kClosed, "the side that measures the costs has disconnected");
    if (!answers.sleeps() && polls % kPollsPerClock != 0) continue;
    if (!answers.sleeps()) std::this_thread::yield();
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
