// SPDX-License-Identifier: Apache-2.0
// engine/fabric/fake_tearing_fabric.h: a fabric for tests that tears WRITEs and READs, as verbs
// permit: the bytes of a WRITE become visible in any order, and mixed with those of the WRITEs that
// were posted before and after it, until a request of another kind follows. A READ does not see all
// its bytes at the same time. Code that looks at memory which a peer WRITEs, or which the owner
// changes while a peer READs, must notice messages that are not complete.
//
// Each request is cut at random addresses that are multiples of 8, and the pieces are posted to the
// fabric `loop` one after another, at most two in each poll of the queue pair's send queue. Between
// two polls, the peer sees an incomplete message. Requests of other kinds are not cut: they follow
// after all pieces of earlier requests.
//
// It differs from the guarantees of fabric.h: WRITEs to the same bytes may take effect in another
// order than they were posted, and a request that is refused may have moved some of its pieces.
//
// Thread   that of the fabric `loop`. A thread that sleeps must call CompletionQueue::arm() before.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "engine/fabric/fake_fabric.h"

namespace hat::engine {

class TearingQueuePair;

class TearingCompletionQueue final : public CompletionQueue {
 public:
  explicit TearingCompletionQueue(std::unique_ptr<CompletionQueue> below)
      : below_(std::move(below)) {}

  size_t poll(std::span<Completion> into) override;
  void arm(bool solicited_only) override;
  int event_fd() const override { return below_->event_fd(); }
  void take_events() override { below_->take_events(); }
  Result<void> resize(uint32_t entries) override { return below_->resize(entries); }

  CompletionQueue& below() { return *below_; }
  void attach(TearingQueuePair& pair);
  void detach(TearingQueuePair& pair);
  void report(const Completion& completion) { ready_.push_back(completion); }

 private:
  const std::unique_ptr<CompletionQueue> below_;
  std::map<uint32_t, TearingQueuePair*> senders_;  // by number
  std::deque<Completion> ready_;
};

class TearingQueuePair final : public QueuePair {
 public:
  TearingQueuePair(std::unique_ptr<QueuePair> below, TearingCompletionQueue& send_cq,
                   uint32_t send_entries, uint32_t seed)
      : below_(std::move(below)), send_cq_(send_cq), send_entries_(send_entries), random_(seed) {
    send_cq_.attach(*this);
  }
  ~TearingQueuePair() override { send_cq_.detach(*this); }

  uint32_t number() const override { return below_->number(); }
  QueuePairAddress address() const override { return below_->address(); }
  Result<void> connect(const QueuePairAddress& other) override { return below_->connect(other); }
  QueuePairState state() const override { return below_->state(); }
  void fail() override { below_->fail(); }
  bool settled() const override { return below_->settled(); }

  size_t post(std::span<const WorkRequest> chain) override {
    if (state() == QueuePairState::kUnconnected) return 0;
    size_t taken = 0;
    for (; taken < chain.size() && outstanding_ < send_entries_; ++taken) take(chain[taken]);
    return taken;
  }

  // Posts some of the held pieces to the fabric below; all of them if `all` is true or if the queue
  // pair is in error, as far as the fabric below takes them.
  void release(bool all) {
    const bool failed = state() == QueuePairState::kError;
    size_t most = all || failed ? SIZE_MAX : random_() % 3;
    for (; most != 0 && !held_.empty(); --most) {
      Batch& batch = held_.front();
      if (failed) batch.pieces.erase(batch.pieces.begin(), batch.pieces.end() - 1);
      if (!post_below(batch)) return;
      batch.pieces.pop_back();
      if (!batch.pieces.empty()) continue;
      posted_.emplace(batch.number, std::move(batch.requests));
      held_.pop_front();
    }
  }

  // Reports the requests of the batch `completion.id` to the send queue, unless a piece of the
  // batch has failed before.
  void on_completion(const Completion& completion) {
    const auto found = posted_.find(completion.id);
    std::vector<WorkRequest> requests;
    if (found != posted_.end()) {
      requests = std::move(found->second);
      posted_.erase(found);
    } else if (!held_.empty() && held_.front().number == completion.id) {
      requests = std::move(held_.front().requests);  // a piece failed before the last was posted
      held_.pop_front();
    }
    outstanding_ -= requests.size();
    Completion reported = completion;
    for (const WorkRequest& request : requests) {
      reported.id = request.id;
      if (!request.signaled && reported.status == Status::kSuccess) continue;
      send_cq_.report(reported);
      if (reported.status != Status::kSuccess) reported.status = Status::kFlushed;
    }
  }

 private:
  // A part of a request, or a request that is not cut.
  struct Piece {
    WorkRequest work;
    std::vector<Segment> segments;
    std::vector<std::byte> inlined;
  };
  // Requests whose pieces are mixed with each other. The last piece that is posted is signaled.
  struct Batch {
    uint64_t number = 0;  // the id of all its pieces
    bool of_writes = false;
    std::vector<WorkRequest> requests;
    std::vector<Piece> pieces;  // the last is posted first
  };
  static constexpr size_t kPiecesOfBatch = 16;

  void take(const WorkRequest& work) {
    ++outstanding_;
    const bool is_write = work.opcode == Opcode::kWrite;
    const bool joins = is_write && !held_.empty() && held_.back().of_writes &&
                       held_.back().pieces.size() < kPiecesOfBatch;
    if (!joins) held_.push_back({.number = ++batches_, .of_writes = is_write});
    Batch& batch = held_.back();
    batch.requests.push_back(work);
    batch.requests.back().segments = {};
    uint64_t bytes = 0;
    for (const Segment& segment : work.segments) bytes += segment.bytes;
    const bool is_cut = is_write || work.opcode == Opcode::kRead;
    for (uint64_t begin = 0, end = 0;; begin = end) {
      end = is_cut ? cut_after(work.remote_address, begin, bytes) : bytes;
      batch.pieces.push_back(piece_of(work, begin, end));
      if (end == bytes) break;
    }
    std::shuffle(batch.pieces.begin(), batch.pieces.end(), random_);
  }

  // Returns the end of the piece that begins at `begin` of `bytes` bytes.
  uint64_t cut_after(uint64_t address, uint64_t begin, uint64_t bytes) {
    const uint64_t wanted = begin + 1 + random_() % (bytes + 1);
    const uint64_t cut = (address + wanted + 7) / 8 * 8 - address;
    return std::min(std::max(cut, begin + 1), bytes);
  }

  static Piece piece_of(const WorkRequest& work, uint64_t begin, uint64_t end) {
    Piece piece{.work = work, .segments = {}, .inlined = {}};
    piece.work.remote_address += begin;
    uint64_t at = 0;
    for (const Segment& segment : work.segments) {
      const uint64_t from = std::clamp(begin, at, at + segment.bytes) - at;
      const uint64_t to = std::clamp(end, at, at + segment.bytes) - at;
      at += segment.bytes;
      if (from == to) continue;
      if (work.inlined) {
        piece.inlined.insert(piece.inlined.end(), segment.data + from, segment.data + to);
      } else {
        piece.segments.push_back(
            {segment.data + from, static_cast<uint32_t>(to - from), segment.lkey});
      }
    }
    return piece;
  }

  bool post_below(Batch& batch) {
    Piece& piece = batch.pieces.back();
    if (!piece.inlined.empty()) {
      piece.segments = {{piece.inlined.data(), static_cast<uint32_t>(piece.inlined.size()), 0}};
    }
    piece.work.segments = piece.segments;
    piece.work.id = batch.number;
    piece.work.signaled = batch.pieces.size() == 1;
    return below_->post({&piece.work, 1}) == 1;
  }

  const std::unique_ptr<QueuePair> below_;
  TearingCompletionQueue& send_cq_;
  const uint32_t send_entries_;
  std::minstd_rand random_;
  size_t outstanding_ = 0;
  uint64_t batches_ = 0;
  std::deque<Batch> held_;
  std::map<uint64_t, std::vector<WorkRequest>> posted_;  // by the number of the batch
};

inline void TearingCompletionQueue::attach(TearingQueuePair& pair) {
  senders_[pair.number()] = &pair;
}
inline void TearingCompletionQueue::detach(TearingQueuePair& pair) {
  senders_.erase(pair.number());
  std::erase_if(ready_, [&](const Completion& completion) {
    return completion.queue_pair == pair.number() && !is_receive(completion.opcode);
  });
}

inline void TearingCompletionQueue::arm(bool solicited_only) {
  for (const auto& [number, pair] : senders_) pair->release(true);
  below_->arm(solicited_only);
}

inline size_t TearingCompletionQueue::poll(std::span<Completion> into) {
  for (const auto& [number, pair] : senders_) pair->release(false);
  std::array<Completion, 16> some;
  for (size_t count = some.size(); count == some.size();) {
    count = below_->poll(some);
    for (const Completion& completion : std::span(some).first(count)) {
      const auto sender = senders_.find(completion.queue_pair);
      if (is_receive(completion.opcode)) {
        ready_.push_back(completion);
      } else if (sender != senders_.end()) {
        sender->second->on_completion(completion);
      }
    }
  }
  const size_t found = std::min(into.size(), ready_.size());
  std::copy_n(ready_.begin(), found, into.begin());
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(found));
  return found;
}

class TearingFabric final : public ForwardingFabric {
 public:
  explicit TearingFabric(uint32_t seed, std::unique_ptr<Fabric> below = *open_loop_fabric())
      : ForwardingFabric(std::move(below)), random_(seed) {}

  Result<std::unique_ptr<Fabric>> open_domain() override {
    HAT_TRY(auto domain, below_->open_domain());
    return std::make_unique<TearingFabric>(static_cast<uint32_t>(random_()), std::move(domain));
  }
  Result<std::unique_ptr<CompletionQueue>> create_completion_queue(uint32_t entries) override {
    HAT_TRY(auto queue, below_->create_completion_queue(entries));
    return std::make_unique<TearingCompletionQueue>(std::move(queue));
  }
  Result<std::unique_ptr<QueuePair>> create_queue_pair(const QueuePairOptions& options) override {
    auto& send_cq = static_cast<TearingCompletionQueue&>(options.send_cq);
    auto& recv_cq = static_cast<TearingCompletionQueue&>(options.recv_cq);
    // Uses the highest number of entries, because each piece is a request of its own. A batch has
    // fewer pieces, and its last piece has a completion.
    QueuePairOptions below = options.with(send_cq.below(), recv_cq.below(), options.srq);
    below.send_entries = limits().send_entries_max;
    HAT_TRY(auto pair, below_->create_queue_pair(below));
    return std::make_unique<TearingQueuePair>(std::move(pair), send_cq, options.send_entries,
                                              static_cast<uint32_t>(random_()));
  }

 private:
  std::minstd_rand random_;
};

}  // namespace hat::engine
