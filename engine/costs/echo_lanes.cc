// SPDX-License-Identifier: Apache-2.0
#include "engine/costs/echo_lanes.h"

#include <thread>
#include <utility>

#include "base/check.h"
#include "engine/fabric/sleep.h"
#include "engine/protocols.h"
#include "engine/rdma/lane_memory.h"

namespace hat::engine {
namespace {

constexpr std::array kProtocolOf = {*find_protocol("direct_write_imm"), *find_protocol("rfp")};
constexpr uint16_t kSlots = 4;  // a lane has one call in flight
constexpr uint64_t kStepsPerEvents = 1024;
constexpr auto kLongestSleep = std::chrono::milliseconds(10);

RdmaLaneOptions options_of(const Protocol& protocol, EchoLanes::Side side) {
  const auto shape = [&](Leg leg) {
    return LaneShape{leg, protocol.beyond, kSlots, EchoLanes::kBytesMax};
  };
  RdmaLaneOptions options;
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
  for (const ProtocolId id : kProtocolOf) {
    plans.push_back({options_of(protocol(id), side_), kLanesEach});
  }
  HAT_TRY(arena_, Arena::create(*fabric_, arena_for(plans, kBytesMax).arena));
  HAT_TRY(poller_, Poller::create(*fabric_, *arena_));
  for (const LanePlan& plan : plans) {
    for (uint32_t i = 0; i < plan.lanes; ++i) {
      ends_.push_back(std::make_unique<End>(*this));
      HAT_TRY(ends_.back()->lane, RdmaLane::create(*poller_, plan.options, *ends_.back()));
    }
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
  if (lanes.side_ == Side::kCalls) {
    if (header.kind != FrameKind::kReply || !std::exchange(waits, false)) return;
    ++lanes.replies_;
    --lanes.in_flight_;
    if (lanes.calling_) lanes.send_call(*this);
    return;
  }
  if (header.kind != FrameKind::kCall || header.replies == 0) return;
  if (lane->congested()) {
    lanes.why_down_ = "the calling side takes no answers";
    return;
  }
  lane->send({.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = header.call},
             {payload});
}

void EchoLanes::send_call(End& end) {
  ++in_flight_;
  end.waits = true;
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

// Runs until the time `end`, until `calls` replies have arrived, and at most until `latest`.
Result<void> EchoLanes::run_until(Clock::time_point end, uint64_t calls, const CallOptions& options,
                                  Clock::time_point latest) {
  replies_ = 0;
  for (auto now = Clock::now(); now < end || replies_ < calls; now = Clock::now()) {
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
  payload_.assign(options.bytes, std::byte{1});
  const auto latest = Clock::now() + options.patience;
  calling_ = true;
  for (size_t i = 0; i < kLanesEach; ++i) {
    send_call(*ends_[static_cast<size_t>(replies) * kLanesEach + i]);
  }
  HAT_TRY_VOID(run_until(Clock::now() + options.time / 4, kLanesEach, options, latest));
  const auto begin = Clock::now();
  HAT_TRY_VOID(run_until(begin + options.time, 4 * kLanesEach, options, latest));
  const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
  const double mean = took.count() / double(replies_);
  calling_ = false;
  HAT_TRY_VOID(run_until(begin, in_flight_, options, latest));
  return mean;
}

}  // namespace hat::engine
