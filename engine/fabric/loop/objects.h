// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/objects.h: the classes of the loop fabric, and which objects refer to which
// other objects.
//
//   LoopFabric                            ──▶ its regions and queue pairs
//   LoopQueuePair                         ──▶ its completion queues and its receive queue
//   LoopCompletionQueue, LoopReceiveQueue ──▶ the queue pairs that use them
//
// A region, completion queue or receive queue must outlive the queue pairs that use it. The fabric
// must outlive all other objects.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/fifo.h"
#include "engine/fabric/fabric.h"
#include "engine/fabric/loop/channel.h"
#include "engine/fabric/loop/doorbell.h"
#include "engine/fabric/loop/wire.h"

namespace hat::engine::loop {

using Clock = std::chrono::steady_clock;

class LoopFabric;
class LoopQueuePair;

class LoopRegion final : public MemoryRegion {
 public:
  LoopRegion(LoopFabric& fabric, std::span<std::byte> bytes, int fd, uint32_t key)
      : fabric_(fabric), bytes_(bytes), fd_(fd), key_(key) {}
  ~LoopRegion() override;
  std::span<std::byte> bytes() const override { return bytes_; }
  uint32_t lkey() const override { return key_; }
  uint32_t rkey() const override { return key_; }
  int fd() const { return fd_; }

 private:
  LoopFabric& fabric_;
  const std::span<std::byte> bytes_;
  const int fd_;  // belongs to the region's SharedMemory, which closes it
  const uint32_t key_;
};

// A region that only this process can access (Fabric::register_own()).
class LoopOwnRegion final : public MemoryRegion {
 public:
  LoopOwnRegion(LoopFabric& fabric, std::span<std::byte> bytes, uint32_t key)
      : fabric_(fabric), bytes_(bytes), key_(key) {}
  ~LoopOwnRegion() override;
  std::span<std::byte> bytes() const override { return bytes_; }
  uint32_t lkey() const override { return key_; }
  uint32_t rkey() const override { return 0; }

 private:
  LoopFabric& fabric_;
  const std::span<std::byte> bytes_;
  const uint32_t key_;
};

class LoopCompletionQueue final : public CompletionQueue {
 public:
  explicit LoopCompletionQueue(Doorbell doorbell) : doorbell_(std::move(doorbell)) {}
  size_t poll(std::span<Completion> into) override;
  void arm(bool solicited_only) override;
  int event_fd() const override { return doorbell_.event_fd(); }
  void take_events() override;
  Result<void> resize(uint32_t) override { return {}; }  // the queue has no bound
  int doorbell() const { return doorbell_.handle(); }    // the handle to send to peers

  // Rings this queue's doorbell if the queue is armed for all completions, or if it is armed for
  // solicited completions and `solicited` is true. This side's queue pairs call this function for
  // completions for which no peer rings the doorbell.
  void ring_if_armed(bool solicited = false);
  Wake armed() const { return armed_; }
  void attach_sender(LoopQueuePair& pair) { senders_.push_back(&pair); }
  void attach_receiver(LoopQueuePair& pair) { receivers_.push_back(&pair); }
  void detach(LoopQueuePair& pair);

 private:
  Doorbell doorbell_;
  Wake armed_ = Wake::kNone;
  size_t turn_ = 0;  // index of the queue pair that the next poll() asks first
  std::vector<LoopQueuePair*> senders_;
  std::vector<LoopQueuePair*> receivers_;
};

class LoopReceiveQueue final : public ReceiveQueue {
 public:
  struct Receive {
    uint64_t id = 0;
    size_t segment_count = 0;
    std::array<Segment, kSegmentsMax> segments;
  };
  explicit LoopReceiveQueue(uint32_t entries) : entries_(entries) {}
  size_t post(std::span<const ReceiveRequest> requests) override;
  bool empty() const { return posted_.empty(); }
  const Receive& front() const { return posted_.front(); }
  void pop_front() { posted_.pop_front(); }
  void attach(LoopQueuePair& pair) { pairs_.push_back(&pair); }
  void detach(LoopQueuePair& pair) { std::erase(pairs_, &pair); }
  void note_missing() { missing_ = true; }  // records that a queue pair found the queue empty

 private:
  const uint32_t entries_;
  bool missing_ = false;
  Fifo<Receive> posted_;
  std::vector<LoopQueuePair*> pairs_;
};

// The state that one side keeps about the peer of a queue pair: the channel to the peer and the
// memory that the two sides share.
struct Other {
  struct Memory {
    uint32_t key = 0;
    std::unique_ptr<SharedMemory> memory;
  };
  Channel channel;
  std::unique_ptr<SharedMemory> pair;
  Direction* out = nullptr;             // points into `pair`: the direction to the peer
  Direction* in = nullptr;              // points into `pair`: the direction from the peer
  std::unique_ptr<SharedMemory> table;  // the peer's RegionTable
  std::vector<Memory> memories = std::vector<Memory>(kRegionsMax);  // mapped; by row of `table`
  Descriptor receives_doorbell;  // the handle of the doorbell of the peer's recv_cq
  Descriptor sends_doorbell;     // the handle of the doorbell of the peer's send_cq
  bool ready = false;            // the peer has sent kReady: all its regions are known
  // Mappings that newer regions of the peer have replaced. A transfer may still copy from them.
  std::vector<std::unique_ptr<SharedMemory>> replaced;

  // Returns true if the peer is not reading or writing this side's memory now, or if its process is
  // gone. After say_failed(), the peer begins no new access, so a result of true is then final.
  bool has_let_go() const {
    return (in->touching.load() == 0 && out->gathering.load() == 0) || channel.ended();
  }

  const RegionTable& regions() const {
    return *reinterpret_cast<const RegionTable*>(table->bytes().data());
  }
};

class LoopQueuePair final : public QueuePair {
 public:
  LoopQueuePair(LoopFabric& fabric, uint32_t number, const QueuePairOptions& options);
  ~LoopQueuePair() override;

  uint32_t number() const override { return number_; }
  QueuePairAddress address() const override;
  Result<void> connect(const QueuePairAddress& other) override;
  QueuePairState state() const override { return state_; }
  size_t post(std::span<const WorkRequest> chain) override;
  void fail() override;
  bool settled() const override;

  // --- Called by the completion queues; `into` must not be empty ---
  size_t complete_sends(std::span<Completion> into);
  size_t complete_receives(std::span<Completion> into);
  void on_receive_posted();  // a receive was posted to srq_, which a queue pair had found empty
  void set_receive_wake(Wake wake);
  void set_send_wake(bool wanted);

  // --- Called by the fabric ---

  // Says when this queue pair accepts a connection: now, later (after connect()), or never.
  enum class Wants : uint8_t { kNow, kLater, kNever };
  Wants wants(const ChannelMessage& hello) const;
  Result<void> accept(Channel channel, ReceivedMessage hello);
  // Reads the control messages that wait on the channel, and acts on them. Returns false if the
  // peer is gone or breaks the format.
  bool read_channel();
  void drop_replaced() {  // called only between transfers
    if (other_) other_->replaced.clear();
  }
  void send_region(const LoopRegion& region);
  int channel_fd() const;
  void other_is_gone();
  // Returns the time at which outstanding requests fail, unless before that time the peer connects
  // or posts a receive, whichever the requests wait for.
  Clock::time_point deadline() const { return deadline_; }
  void check_deadline(Clock::time_point now);

 private:
  struct Request {
    uint64_t id = 0;
    uint64_t ring_end = 0;  // the request is done once the peer has taken `ring_end` entries
    uint32_t bytes = 0;
    Opcode opcode{};
    Status status = Status::kSuccess;
    bool signaled = false;
  };
  // A request that was posted before the peer had connected and sent kReady (attached()).
  struct Early {
    WorkRequest work;
    size_t segment_count = 0;
    std::array<Segment, kSegmentsMax> segments;
    std::array<std::byte, kInlineBytesMax> inlined_bytes;
  };

  // A ring of requests, whose length is a power of two. The requests from `head` to `started` are
  // outstanding, and the requests from `started` to `tail` have not begun. The requests from
  // `freed` to `head` are done, but keep their entries until poll() returns a completion that
  // shows this, as on a device. So the entries from `freed` to `tail` are in use. check() asserts
  // the order freed, head, started, tail, and that the entries in use fit into the ring.
  struct SendQueue {
    std::vector<Request> requests;
    Fifo<uint64_t> signaled;   // numbers of the signaled requests from `head` to `tail`
    std::vector<Early> early;  // the requests from `started` on, until attached() becomes true
    uint64_t freed = 0;
    uint64_t head = 0;
    uint64_t started = 0;
    uint64_t tail = 0;

    Request& at(uint64_t index) { return requests[index & (requests.size() - 1)]; }
    void check() const {
      DCHECK(freed <= head && head <= started && started <= tail);
      DCHECK_LE(tail - freed, requests.size());
    }
  };

  Request& request(uint64_t index) { return sends_.at(index); }
  bool attached() const { return other_ != nullptr && other_->ready; }
  void keep(const WorkRequest& work);
  void start_early();
  void start(const WorkRequest& work, Request& request);
  Status check_local(const WorkRequest& work) const;
  Status touch(const WorkRequest& work, uint32_t& bytes);
  static void do_one_sided(const WorkRequest& work, std::byte* remote);
  std::byte* remote(uint32_t key, uint64_t address, uint64_t bytes, uint32_t right);
  void push(const WorkRequest& work, uint32_t bytes);
  uint64_t taken_there() const;
  bool nobody_asks() const;
  bool there() const;
  bool is_done(uint64_t index, uint64_t taken);
  size_t complete_failing(std::span<Completion> into, uint64_t taken);
  Completion completion_of(const Request& request, Status status) const;
  void check_refusal(uint64_t taken);
  size_t take_entries(std::span<Completion> into);
  void set_failing(Status why);
  Status take_entry(const EntryHead& head, const RingEntry& entry,
                    const LoopReceiveQueue::Receive& receive, Completion& done);
  void ring_receiver(bool solicited);
  void ring_sender();
  void ring_own_sender();
  void say_failed();
  void set_deadline(std::chrono::nanoseconds wait);
  bool introduce(const ChannelMessage& message, std::initializer_list<int> descriptors);
  bool heed(ReceivedMessage& got);
  void attach();

  LoopFabric& fabric_;
  const uint32_t number_;
  const uint64_t nonce_;
  LoopCompletionQueue& send_cq_;
  LoopCompletionQueue& recv_cq_;
  LoopReceiveQueue& srq_;
  const QueuePairOptions options_;
  QueuePairState state_ = QueuePairState::kUnconnected;
  QueuePairAddress other_address_{};
  std::unique_ptr<Other> other_;          // null: the peer is not known yet, or is gone
  std::unique_ptr<Other> lingering_;      // a peer that is gone, but may still access memory here
  bool gone_ = false;                     // the peer was known, and is gone
  uint64_t gone_taken_ = 0;               // how many entries the peer had taken when it was gone
  Status why_failed_ = Status::kFlushed;  // the status for the oldest request that is not done
  bool failed_in_taking_ = false;         // an entry from the peer could not be taken
  bool broken_ = false;                   // a request has failed, so no later request starts
  SendQueue sends_;
  uint64_t posted_ = 0;  // the number of entries sent to the peer
  uint64_t taken_ = 0;   // the number of entries taken from the peer
  Clock::time_point deadline_ = Clock::time_point::max();
  uint64_t deadline_for_ = 0;  // the number of the entry for which the peer has no receive
};

class LoopFabric final : public Fabric {
 public:
  static constexpr uint32_t kOwnKey = 0x8000'0000;  // this bit is set in keys of LoopOwnRegions

  // The folder of the sockets. Both texts are empty if the sockets are abstract.
  struct Folder {
    std::string path;
    std::string identity;  // identity_of(path)
  };

  static Result<std::unique_ptr<Fabric>> open(std::optional<uint64_t> seed, Folder folder = {});
  std::string_view name() const override { return "loop"; }
  std::string reach() const override;
  FabricLimits limits() const override;
  Result<std::unique_ptr<Fabric>> open_domain() override;
  Result<std::unique_ptr<MemoryRegion>> register_memory(const SharedMemory& memory,
                                                        RemoteAccess access) override;
  Result<std::unique_ptr<MemoryRegion>> register_own(std::span<std::byte> memory) override;
  Result<std::unique_ptr<CompletionQueue>> create_completion_queue(uint32_t entries) override;
  Result<std::unique_ptr<ReceiveQueue>> create_receive_queue(uint32_t entries) override;
  Result<std::unique_ptr<QueuePair>> create_queue_pair(const QueuePairOptions& options) override;
  int event_fd() const override { return epoll_.get(); }
  std::optional<FabricEvent> next_event() override;

  // --- Called by the objects of the fabric ---
  const std::string& listener_name() const { return listener_.name(); }
  const Folder& folder() const { return folder_; }
  int table_fd() const { return table_.fd(); }
  const std::vector<LoopRegion*>& regions() const { return regions_; }  // by row; null if free
  // Returns the address of the segment's bytes, or nullptr if its key is unknown or the bytes are
  // not inside its region.
  std::byte* local(const Segment& segment) const;
  // Returns what local() returns, but also finds memory of register_own().
  std::byte* own(const Segment& segment) const;
  void forget(LoopRegion& region);
  void forget(const LoopOwnRegion& region) { own_regions_.erase(region.lkey()); }
  void forget(LoopQueuePair& pair);
  void watch(int fd);
  void watch_end(int fd);  // from now on, watches only for the end of the connection
  void report(FabricEvent event) { events_.push_back(std::move(event)); }
  // Accepts new channels, acts on control messages, and checks deadlines.
  void work();
  // Waits until settled() of all `pairs` returns true, but at most for kPatience.
  static void await_settled(std::span<LoopQueuePair* const> pairs);
  void set_alarm();
  uint64_t next_nonce();

 private:
  struct Waiting {
    Channel channel;
    std::optional<ReceivedMessage> hello;
  };

  LoopFabric(ChannelListener listener, SharedMemory table, Descriptor epoll, Descriptor alarm);
  RegionTable& table() { return *reinterpret_cast<RegionTable*>(table_.bytes().data()); }
  void take_channels();
  void pause_accepting();
  void read_waiting();

  Folder folder_;
  ChannelListener listener_;
  SharedMemory table_;
  Descriptor epoll_;
  Descriptor alarm_;
  std::optional<std::mt19937_64> random_;
  uint32_t generation_ = 0;  // a part of the last key; it makes the keys of a row's regions differ
  uint32_t last_queue_pair_ = 0;
  std::vector<LoopRegion*> regions_ = std::vector<LoopRegion*>(kRegionsMax);  // by row
  uint32_t last_own_key_ = kOwnKey;
  std::unordered_map<uint32_t, LoopOwnRegion*> own_regions_;
  std::unordered_map<uint32_t, LoopQueuePair*> queue_pairs_;
  std::vector<Waiting> waiting_;  // channels whose queue pair is not known yet
  // The time at which to watch listener_ again; max() if listener_ is watched now.
  Clock::time_point accept_again_ = Clock::time_point::max();
  std::vector<FabricEvent> events_;
};

}  // namespace hat::engine::loop
