// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/poller.h"

#include <algorithm>
#include <array>

#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

Poller::Poller(Fabric& fabric, Arena& arena, const PollerOptions& options)
    : fabric_(fabric), arena_(arena), options_(options) {}

Poller::~Poller() = default;

Result<std::unique_ptr<Poller>> Poller::create(Fabric& fabric, Arena& arena,
                                               const PollerOptions& options) {
  std::unique_ptr<Poller> poller(new Poller(fabric, arena, options));
  HAT_TRY(poller->completions_, fabric.create_completion_queue(options.completions));
  HAT_TRY(poller->receives_, fabric.create_receive_queue(options.receives_max));
  poller->to_post_.reserve(options.receives_max);
  return poller;
}

// --- Lanes and their receives ---

Result<void> Poller::add(RdmaLane& lane) {
  const uint32_t entries = send_entries_ + lane.options().send_entries;
  if (entries + options_.receives_max > options_.completions) {
    return fail(ErrorCode::kExhausted,
                "RDMA lanes: the completion queue has " + std::to_string(options_.completions) +
                    " entries, too few for a lane more; lanes that share it: " +
                    std::to_string(lanes_.size()));
  }
  HAT_TRY_VOID(add_receives(receives_needed_ + lane.receives_needed() + kSlack));
  receives_needed_ += lane.receives_needed();
  send_entries_ = entries;
  by_number_[lane.number()] = &lane;
  lanes_.push_back(&lane);
  touched_.reserve(lanes_.size());
  return {};
}

void Poller::remove(RdmaLane& lane) {
  if (by_number_.erase(lane.number()) == 0) return;
  std::erase(lanes_, &lane);
  send_entries_ -= lane.options().send_entries;
  receives_needed_ -= lane.receives_needed();
  last_ = nullptr;
  std::erase(touched_, &lane);
}

void Poller::retire(std::unique_ptr<RdmaLane> lane) {
  forget_settled();
  if (!lane) return;
  lane->leave();
  if (!lane->settled()) retired_.push_back(std::move(lane));
}

void Poller::forget_settled() {
  std::erase_if(retired_, [](const auto& lane) { return lane->settled(); });
}

Result<void> Poller::add_receives(uint32_t count) {
  if (count > options_.receives_max) {
    return fail(ErrorCode::kExhausted, "RDMA lanes: " + std::to_string(count) +
                                           " receives are needed and " +
                                           std::to_string(options_.receives_max) +
                                           " are allowed: use fewer lanes or fewer slots");
  }
  while (blocks_.size() * kReceivesPerBlock < count) {
    auto block = arena_.take(Purpose::kControl, size_t{kReceivesPerBlock} * kReceiveBytes);
    if (!block) {
      return fail(ErrorCode::kExhausted,
                  "RDMA lanes: no memory left for " + std::to_string(count) +
                      " receives: raise fabric.max_pinned, or use fewer lanes");
    }
    const auto first = static_cast<uint32_t>(blocks_.size()) * kReceivesPerBlock;
    blocks_.push_back(std::move(*block));
    for (uint32_t i = 0; i < kReceivesPerBlock; ++i) to_post_.push_back(first + i);
  }
  post_receives();
  return {};
}

std::byte* Poller::at(uint32_t receive) {
  return blocks_[receive / kReceivesPerBlock].bytes().data() +
         size_t{receive % kReceivesPerBlock} * kReceiveBytes;
}

void Poller::post_receives() {
  std::array<Segment, kPostBatch> segments;
  std::array<ReceiveRequest, kPostBatch> requests;
  while (!to_post_.empty()) {
    const size_t count = std::min<size_t>(kPostBatch, to_post_.size());
    for (size_t i = 0; i < count; ++i) {
      const uint32_t receive = to_post_[to_post_.size() - 1 - i];
      segments[i] = {at(receive), kReceiveBytes, blocks_[receive / kReceivesPerBlock].lkey()};
      requests[i] = {.id = kReceiveId | receive, .segments = {&segments[i], 1}};
    }
    const size_t taken = receives_->post(std::span(requests).first(count));
    to_post_.resize(to_post_.size() - taken);
    posted_ += static_cast<uint32_t>(taken);
    if (taken < count) return;
  }
}

// --- Polling ---

RdmaLane* Poller::find(uint32_t queue_pair) {
  if (last_ != nullptr && last_->number() == queue_pair) return last_;
  const auto found = by_number_.find(queue_pair);
  return found == by_number_.end() ? nullptr : last_ = found->second;
}

void Poller::dispatch(const Completion& done) {
  RdmaLane* lane = find(done.queue_pair);
  if ((done.id & kReceiveId) == 0) {
    if (lane != nullptr) lane->on_send_completion(done);
  } else {
    const auto receive = static_cast<uint32_t>(done.id);
    DCHECK_NE(posted_, 0u);
    --posted_;
    if (lane == nullptr || lane->broken()) return give_back(receive);
    lane->on_receive(done, receive, at(receive));
  }
  if (lane != nullptr) touch(lane);
}

void Poller::touch(RdmaLane* lane) {
  if (!touched_.empty() && touched_.back() == lane) return;
  if (std::ranges::find(touched_, lane) == touched_.end()) touched_.push_back(lane);
}

size_t Poller::poll() {
  size_t found = 0;
  const size_t count = completions_->poll(done_);
  if (count == 0 && last_ != nullptr) last_->expect();
  for (size_t i = 0; i < count; ++i) dispatch(done_[i]);
  found += count;
  for (RdmaLane* lane : lanes_) {
    if (!lane->may_poll() || !lane->wants_poll()) continue;
    if (lane->poll()) ++found;
    touch(lane);
  }
  // Posts the used receives again before after_poll() is called: after_poll() sends credits, which
  // permit the other sides of the lanes to send more messages.
  if (to_post_.size() >= kPostBatch) post_receives();
  if (touched_.empty()) return found;
  for (RdmaLane* lane : touched_) lane->after_poll();
  touched_.clear();
  return found;
}

bool Poller::prepare_to_sleep() {
  if (poll() != 0) return false;  // first, as it can post READs, whose completions end the sleep
  bool any = false;
  for (const RdmaLane* lane : lanes_) any |= lane->wants_send_completions();
  completions_->arm(!any);
  return poll() == 0;
}

void Poller::on_event(const FabricEvent& event) {
  if (event.kind == FabricEvent::Kind::kQueuePairError) {
    if (RdmaLane* lane = find(event.queue_pair)) lane->on_queue_pair_error(event.detail);
  } else if (event.kind == FabricEvent::Kind::kDeviceGone) {
    const std::vector<RdmaLane*> all = lanes_;
    for (RdmaLane* lane : all) lane->on_queue_pair_error("the RDMA device is gone");
  }
}

}  // namespace hat::engine
