// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/poller.h"

#include <algorithm>
#include <array>

#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

Poller::Poller(Fabric& fabric, Arena& arena, std::shared_ptr<CompletionRouter> router,
               const PollerOptions& options, RdmaBudget::Charge entries)
    : fabric_(fabric),
      arena_(arena),
      options_(options),
      router_(std::move(router)),
      entries_(std::move(entries)),
      number_(router_->add(*this)) {}

Poller::~Poller() {
  router_->remove(*this);
  release(static_cast<uint32_t>(blocks_.size()) * kReceivesPerBlock);
}

Result<void> Poller::reserve(uint32_t entries) {
  HAT_TRY_VOID(router_->reserve(entries));
  auto added = entries_.add(entries);
  if (!added) router_->release(entries);
  return added;
}

void Poller::release(uint32_t entries) {
  router_->release(entries);
  entries_.give_back(entries);
}

Result<std::unique_ptr<Poller>> Poller::create(Fabric& fabric, Arena& arena,
                                               std::shared_ptr<CompletionRouter> router,
                                               const PollerOptions& options,
                                               RdmaBudget::Charge entries) {
  std::unique_ptr<Poller> poller(
      new Poller(fabric, arena, std::move(router), options, std::move(entries)));
  HAT_TRY(poller->receives_, fabric.create_receive_queue(options.receives_max));
  poller->to_post_.reserve(options.receives_max);
  return poller;
}

Result<std::unique_ptr<Poller>> Poller::create(Fabric& fabric, Arena& arena,
                                               const PollerOptions& options) {
  HAT_TRY(std::shared_ptr<CompletionRouter> router,
          CompletionRouter::create(fabric, options.completions));
  return create(fabric, arena, std::move(router), options);
}

// --- Lanes and their receives ---

Result<void> Poller::add(RdmaLane& lane) {
  if (failed_) {
    return fail(ErrorCode::kUnavailable,
                "RDMA lanes: the receive queue of the link's lanes has failed");
  }
  const uint32_t receives = receives_needed_ + lane.receives_needed() + kSlack;
  if (receives > options_.receives_max) {
    return fail(ErrorCode::kExhausted, "RDMA lanes: " + std::to_string(receives) +
                                           " receives are needed and " +
                                           std::to_string(options_.receives_max) +
                                           " are allowed: use fewer lanes or fewer slots");
  }
  const uint32_t send_entries = lane.options().send_entries;
  HAT_TRY_VOID(reserve(send_entries));
  const uint32_t blocks = (receives + kReceivesPerBlock - 1) / kReceivesPerBlock;
  if (auto added = add_receives(blocks); !added) {
    release(send_entries);
    return added;
  }
  receives_needed_ += lane.receives_needed();
  router_->add(lane);
  lanes_.push_back(&lane);
  touched_.reserve(lanes_.size());
  return {};
}

void Poller::remove(RdmaLane& lane) {
  if (std::erase(lanes_, &lane) == 0) return;
  router_->remove(lane);
  release(lane.options().send_entries);
  receives_needed_ -= lane.receives_needed();
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

// Adds receives until there are `blocks` blocks of them, and posts them.
Result<void> Poller::add_receives(uint32_t blocks) {
  while (blocks_.size() < blocks) {
    HAT_TRY_VOID(reserve(kReceivesPerBlock));
    auto block = arena_.take(Purpose::kControl, size_t{kReceivesPerBlock} * kReceiveBytes);
    if (!block) {
      release(kReceivesPerBlock);
      return fail(ErrorCode::kExhausted,
                  "RDMA lanes: no memory left for " + std::to_string(blocks * kReceivesPerBlock) +
                      " receives: raise fabric.max_pinned, or use fewer lanes" +
                      arena_.refusal_text(Purpose::kControl));
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
      requests[i] = {.id = CompletionRouter::receive_id(number_, receive),
                     .segments = {&segments[i], 1}};
    }
    const size_t taken = receives_->post(std::span(requests).first(count));
    to_post_.resize(to_post_.size() - taken);
    posted_ += static_cast<uint32_t>(taken);
    if (taken < count) return;
  }
}

// --- Polling ---

void Poller::on_receive(RdmaLane* lane, const Completion& done) {
  const auto receive = static_cast<uint32_t>(done.id);
  DCHECK_NE(posted_, 0u);
  --posted_;
  if (lane == nullptr || lane->broken()) return give_back(receive);
  lane->on_receive(done, receive, at(receive));
  touch(lane);
}

void Poller::touch(RdmaLane* lane) {
  if (!touched_.empty() && touched_.back() == lane) return;
  if (std::ranges::find(touched_, lane) == touched_.end()) touched_.push_back(lane);
}

size_t Poller::finish_poll() {
  size_t found = 0;
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

void Poller::on_receive_queue_error(const std::string& detail) {
  failed_ = true;
  for (RdmaLane* lane : std::vector(lanes_)) lane->on_receive_queue_error(detail);
}

bool Poller::wants_send_completions() const {
  return std::ranges::any_of(lanes_,
                             [](const RdmaLane* lane) { return lane->wants_send_completions(); });
}

}  // namespace hat::engine
