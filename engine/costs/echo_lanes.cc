// SPDX-License-Identifier: Apache-2.0
#include "engine/costs/echo_lanes.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/fabric/sleep.h"
#include "engine/rdma/lane_memory.h"

namespace hat::engine {
namespace {

static_assert(protocol(EchoLanes::kProtocolOf[size_t(EchoLanes::Replies::kPushed)]).response ==
              Leg::kWriteImm);
static_assert(protocol(EchoLanes::kProtocolOf[size_t(EchoLanes::Replies::kFetched)]).response ==
              Leg::kFetch0);

constexpr uint16_t kSlots = 4;  // as a lane of hatrpcd for messages of kBytesMax
constexpr PollerOptions kPollerOptions{.completions = 1024, .receives_max = 512};
constexpr uint64_t kStepsPerEvents = 1024;
constexpr uint64_t kRepliesMin = 8 * EchoLanes::kCallsInFlight;  // of a measurement
constexpr auto kLongestSleep = std::chrono::milliseconds(10);

RdmaLaneOptions options_of(const Protocol& protocol, EchoLanes::Side side) {
  const auto shape = [&](Leg leg) {
    return LaneShape{leg, protocol.beyond, kSlots, EchoLanes::kBytesMax};
  };
  RdmaLaneOptions options;
  options.rendezvous.message_bytes_max = EchoLanes::kBytesMax;
  options.out = shape(protocol.request);
  options.in = shape(protocol.response);
  if (side == EchoLanes::Side::kAnswers) std::swap(options.out, options.in);
  return options;
}

}  // namespace

Result<std::unique_ptr<EchoLanes>> EchoLanes::create(Fabric& fabric, Side side) {
  HAT_TRY(auto domain, fabric.open_domain());
  std::unique_ptr<EchoLanes> lanes(new EchoLanes(std::move(domain), side));
  HAT_TRY_VOID(lanes->open());
  return lanes;
}

Result<void> EchoLanes::open() {
  std::vector<LanePlan> plans;
  for (const ProtocolId id : kProtocolOf) plans.push_back({options_of(protocol(id), side_)});
  HAT_TRY(arena_, Arena::create(*fabric_, arena_for(plans, kBytesMax).arena));
  PollerOptions options = kPollerOptions;
  options.receives_max = std::min(options.receives_max, fabric_->limits().receive_entries_max);
  HAT_TRY(poller_, Poller::create(*fabric_, *arena_, options));
  for (size_t i = 0; i < ends_.size(); ++i) {
    ends_[i] = std::make_unique<End>(*this);
    HAT_TRY(ends_[i]->lane, RdmaLane::create(*poller_, plans[i].options, *ends_[i]));
  }
  return {};
}

EchoLanes::Offers EchoLanes::offers() const {
  Offers offers;
  for (size_t i = 0; i < offers.size(); ++i) offers[i] = ends_[i]->lane->offer();
  return offers;
}

Result<void> EchoLanes::connect(const Offers& others) {
  for (size_t i = 0; i < others.size(); ++i) {
    HAT_TRY_VOID(ends_[i]->lane->connect(others[i]));
  }
  return {};
}

void EchoLanes::End::on_frame(const FrameHeader& header, Bytes payload) {
  ++lanes.arrived_by_[static_cast<size_t>(lane->leg_of_delivery())];
  if (lanes.side_ == Side::kAnswers) return answer(header, payload);
  if (header.kind != FrameKind::kReply || calls == 0) return;
  if (payload.size() != lanes.payload_.size() || lane->congested()) {
    lanes.why_down_ = "the answering side sends replies that nobody waits for";
    return;
  }
  --calls;
  Count& count = lanes.count_;
  count.last = Clock::now();
  if (++count.replies == 1) count.first = count.last;
  if (lanes.calling_) lanes.send_call(*this);
}

void EchoLanes::End::answer(const FrameHeader& header, Bytes payload) {
  if (header.kind != FrameKind::kCall || header.replies == 0) return;
  if (payload.size() > kBytesMax || lane->congested()) {
    lanes.why_down_ = "the calling side sends too large calls, or takes no answers";
    return;
  }
  lane->send({.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = header.call},
             {payload});
}

void EchoLanes::send_call(End& end) {
  ++end.calls;
  end.lane->send(
      {.kind = FrameKind::kCall, .flags = kLastPiece, .replies = 1, .stream = 1, .call = 1},
      {payload_});
}

void EchoLanes::take_events() {
  while (const auto event = fabric_->next_event()) poller_->on_event(*event);
}

void EchoLanes::flush() {
  for (const auto& end : ends_) end->lane->flush();
}

Result<void> EchoLanes::step(std::chrono::milliseconds at_most) {
  if (++steps_ % kStepsPerEvents == 0) take_events();
  const size_t found = poller_->poll();
  flush();
  if (!why_down_.empty()) {
    return fail(ErrorCode::kUnavailable, "a lane with calls has ended: " + why_down_);
  }
  if (found != 0) return {};
  if (!poller_->prepare_to_sleep()) {  // a lane polls memory
    std::this_thread::yield();
    return {};
  }
  flush();
  sleep_on({poller_->event_fd(), fabric_->event_fd()}, at_most);
  poller_->take_events();
  take_events();
  return {};
}

// Runs until the time `end`, and until the number `replies` has arrived, at most until `latest`.
Result<void> EchoLanes::run_until(Clock::time_point end, uint64_t replies,
                                  const CallOptions& options, Clock::time_point latest) {
  count_ = {};
  for (auto now = Clock::now(); now < end || count_.replies < replies; now = Clock::now()) {
    if (now > latest) {
      return fail(ErrorCode::kUnavailable, "the other side answers too slowly, or not at all");
    }
    if (options.stop.stop_requested()) return fail(ErrorCode::kStopped, "stopped on request");
    HAT_TRY_VOID(step(kLongestSleep));
  }
  return {};
}

Result<double> EchoLanes::call(Replies replies, const CallOptions& options) {
  CHECK(side_ == Side::kCalls);
  CHECK(options.bytes != 0 && options.bytes <= kBytesMax);
  End& end = *ends_[static_cast<size_t>(replies)];
  CHECK_EQ(end.calls, 0u) << "a call of these lanes has failed before";
  payload_.assign(options.bytes, std::byte{1});
  const auto begin = Clock::now();
  const auto latest = begin + options.patience;
  calling_ = true;
  for (uint32_t i = 0; i < kCallsInFlight; ++i) send_call(end);
  HAT_TRY_VOID(run_until(begin + options.time / 4, kCallsInFlight, options, latest));
  HAT_TRY_VOID(run_until(Clock::now() + options.time, kRepliesMin, options, latest));
  const std::chrono::duration<double, std::nano> took = count_.last - count_.first;
  const double mean = took.count() / double(count_.replies - 1);
  calling_ = false;
  HAT_TRY_VOID(run_until(begin, end.calls, options, latest));
  return mean;
}

}  // namespace hat::engine
