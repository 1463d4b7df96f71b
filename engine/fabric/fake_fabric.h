// SPDX-License-Identifier: Apache-2.0
// engine/fabric/fake_fabric.h: fabrics for tests. They stand between the code under test and the
// fabric `loop`, which does the work.
//
//   ForwardingFabric   passes each call on; a test overrides the functions that it changes
//   RecordingFabric    also records the work requests that queue pairs post
//
// Thread   that of the fabric below.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/fabric/loop/loop_fabric.h"

namespace hat::engine {

class ForwardingFabric : public Fabric {
 public:
  explicit ForwardingFabric(std::unique_ptr<Fabric> below = *open_loop_fabric())
      : below_(std::move(below)) {}

  std::string_view name() const override { return below_->name(); }
  std::string reach() const override { return below_->reach(); }
  FabricLimits limits() const override { return below_->limits(); }
  Result<std::unique_ptr<Fabric>> open_domain() override { return below_->open_domain(); }
  Result<std::unique_ptr<MemoryRegion>> register_memory(const SharedMemory& memory,
                                                        RemoteAccess access) override {
    return below_->register_memory(memory, access);
  }
  Result<std::unique_ptr<MemoryRegion>> register_own(std::span<std::byte> memory) override {
    return below_->register_own(memory);
  }
  Result<std::unique_ptr<CompletionQueue>> create_completion_queue(uint32_t entries) override {
    return below_->create_completion_queue(entries);
  }
  Result<std::unique_ptr<ReceiveQueue>> create_receive_queue(uint32_t entries) override {
    return below_->create_receive_queue(entries);
  }
  Result<std::unique_ptr<QueuePair>> create_queue_pair(const QueuePairOptions& options) override {
    return below_->create_queue_pair(options);
  }
  int event_fd() const override { return below_->event_fd(); }
  std::optional<FabricEvent> next_event() override { return below_->next_event(); }

 protected:
  const std::unique_ptr<Fabric> below_;
};

// A work request as RecordingFabric records it: what it does, and to how many bytes.
struct PostedRequest {
  Opcode opcode;
  uint64_t bytes;

  friend bool operator==(const PostedRequest&, const PostedRequest&) = default;
};
// The work requests that one call of QueuePair::post() has posted.
using PostedChain = std::vector<PostedRequest>;

class RecordingFabric final : public ForwardingFabric {
 public:
  // Appends each posted chain to `chains`, which must outlive the fabric and its queue pairs. The
  // domains that the fabric opens record in `chains`, too.
  explicit RecordingFabric(std::vector<PostedChain>& chains,
                           std::unique_ptr<Fabric> below = *open_loop_fabric())
      : ForwardingFabric(std::move(below)), chains_(chains) {}

  Result<std::unique_ptr<Fabric>> open_domain() override {
    HAT_TRY(auto domain, below_->open_domain());
    return std::make_unique<RecordingFabric>(chains_, std::move(domain));
  }
  Result<std::unique_ptr<QueuePair>> create_queue_pair(const QueuePairOptions& options) override {
    HAT_TRY(auto pair, below_->create_queue_pair(options));
    return std::make_unique<RecordingQueuePair>(std::move(pair), chains_);
  }

 private:
  class RecordingQueuePair final : public QueuePair {
   public:
    RecordingQueuePair(std::unique_ptr<QueuePair> below, std::vector<PostedChain>& chains)
        : below_(std::move(below)), chains_(chains) {}
    uint32_t number() const override { return below_->number(); }
    QueuePairAddress address() const override { return below_->address(); }
    Result<void> connect(const QueuePairAddress& other) override { return below_->connect(other); }
    QueuePairState state() const override { return below_->state(); }
    size_t post(std::span<const WorkRequest> chain) override {
      PostedChain& posted = chains_.emplace_back();
      for (const WorkRequest& work : chain) {
        posted.push_back({.opcode = work.opcode, .bytes = 0});
        for (const Segment& segment : work.segments) posted.back().bytes += segment.bytes;
      }
      return below_->post(chain);
    }
    void fail() override { below_->fail(); }
    bool settled() const override { return below_->settled(); }

   private:
    const std::unique_ptr<QueuePair> below_;
    std::vector<PostedChain>& chains_;
  };

  std::vector<PostedChain>& chains_;
};

}  // namespace hat::engine
