// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/queue_pair.cc: connects two queue pairs of the loop fabric, and ends them when
// a side fails, closes or dies.
#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/fabric/loop/barrier.h"
#include "engine/fabric/loop/objects.h"

namespace hat::engine::loop {
namespace {

constexpr size_t kNameBytesMax = 40;
// The maximum number of replaced mappings of a peer's regions that this side keeps. If the peer
// replaces more regions, this side treats the peer as gone.
constexpr size_t kReplacedMax = kRegionsMax;
// The maximum number of control messages that one call of read_channel() reads, so that one peer
// cannot keep the thread from its other work.
constexpr size_t kMessagesPerRead = 2 * kRegionsMax;

// The contents of a QueuePairAddress.
struct Address {
  uint32_t queue_pair = 0;
  uint32_t name_bytes = 0;
  uint64_t nonce = 0;
  std::array<char, kNameBytesMax> name{};
};
static_assert(sizeof(Address) <= kQueuePairAddressBytes);

Result<Address> parse(const QueuePairAddress& bytes) {
  Address address;
  std::memcpy(&address, bytes.data(), sizeof address);
  if (address.name_bytes == 0 || address.name_bytes > kNameBytesMax) {
    return fail(ErrorCode::kProtocol,
                "loop fabric: the peer sent a queue pair address that is not of a loop fabric");
  }
  return address;
}

Result<std::unique_ptr<SharedMemory>> map_as(Descriptor& fd, size_t bytes_min) {
  HAT_TRY(SharedMemory memory, SharedMemory::map(std::move(fd)));
  if (memory.bytes().size() < bytes_min)
    return fail(ErrorCode::kProtocol,
                "loop fabric: the memory that the other side shares is too small");
  return std::make_unique<SharedMemory>(std::move(memory));
}

}  // namespace

LoopQueuePair::LoopQueuePair(LoopFabric& fabric, uint32_t number, const QueuePairOptions& options)
    : fabric_(fabric),
      number_(number),
      nonce_(fabric.next_nonce()),
      send_cq_(static_cast<LoopCompletionQueue&>(options.send_cq)),
      recv_cq_(static_cast<LoopCompletionQueue&>(options.recv_cq)),
      srq_(static_cast<LoopReceiveQueue&>(options.srq)),
      options_(options),
      sends_{.requests = std::vector<Request>(std::bit_ceil(options.send_entries))} {
  send_cq_.attach_sender(*this);
  recv_cq_.attach_receiver(*this);
  srq_.attach(*this);
}

LoopQueuePair::~LoopQueuePair() {
  if (other_) say_failed();
  LoopQueuePair* const self = this;
  LoopFabric::await_settled({&self, 1});
  srq_.detach(*this);
  send_cq_.detach(*this);
  recv_cq_.detach(*this);
  fabric_.forget(*this);
}

QueuePairAddress LoopQueuePair::address() const {
  const std::string& name = fabric_.listener_name();
  Address address{
      .queue_pair = number_, .name_bytes = static_cast<uint32_t>(name.size()), .nonce = nonce_};
  std::ranges::copy(name, address.name.begin());
  QueuePairAddress bytes{};
  std::memcpy(bytes.data(), &address, sizeof address);
  return bytes;
}

// The side with the smaller address creates the pair's memory and connects to the peer's listener.
Result<void> LoopQueuePair::connect(const QueuePairAddress& other) {
  if (state_ != QueuePairState::kUnconnected) {
    return hat::fail(ErrorCode::kBusy, "loop fabric: this queue pair was already connected");
  }
  HAT_TRY(const Address address, parse(other));
  other_address_ = other;
  if (other < this->address()) {
    state_ = QueuePairState::kConnected;
    fabric_.work();  // accepts the peer's connection if it has arrived already
    return {};
  }
  HAT_TRY(SharedMemory memory, SharedMemory::create("hatrpc-pair", sizeof(Pair)));
  HAT_TRY(Channel channel,
          Channel::connect({address.name.data(), address.name_bytes}, fabric_.folder().path));
  other_ = std::make_unique<Other>();
  other_->channel = std::move(channel);
  other_->pair = std::make_unique<SharedMemory>(std::move(memory));
  auto& pair = *reinterpret_cast<Pair*>(other_->pair->bytes().data());
  other_->out = &pair.directions[0];
  other_->in = &pair.directions[1];
  other_->in->rights.store(rights_of(options_.access));
  const ChannelMessage hello{.kind = ChannelMessage::Kind::kHello,
                             .nonce = address.nonce,
                             .target = address.queue_pair,
                             .sender = this->address()};
  if (!introduce(hello, {other_->pair->fd(), fabric_.table_fd(), recv_cq_.doorbell(),
                         send_cq_.doorbell()})) {
    other_.reset();
    return hat::fail(ErrorCode::kClosed, "loop fabric: the other side closed the connection");
  }
  state_ = QueuePairState::kConnected;
  fabric_.watch(other_->channel.fd());
  return {};
}

bool LoopQueuePair::introduce(const ChannelMessage& message,
                              std::initializer_list<int> descriptors) {
  bool sent = other_->channel.send(message, descriptors);
  for (const LoopRegion* region : fabric_.regions()) {
    if (region == nullptr) continue;
    sent &= other_->channel.send({.kind = ChannelMessage::Kind::kRegion, .key = region->rkey()},
                                 {region->fd()});
  }
  return sent && other_->channel.send({.kind = ChannelMessage::Kind::kReady}, {});
}

LoopQueuePair::Wants LoopQueuePair::wants(const ChannelMessage& hello) const {
  if (hello.nonce != nonce_ || other_ || gone_) return Wants::kNever;
  if (state_ == QueuePairState::kUnconnected) return Wants::kLater;
  const bool now = state_ == QueuePairState::kConnected && hello.sender == other_address_;
  return now ? Wants::kNow : Wants::kNever;
}

Result<void> LoopQueuePair::accept(Channel channel, ReceivedMessage hello) {
  if (hello.descriptors.size() != 4)
    return hat::fail(
        ErrorCode::kClosed,
        "loop fabric: the other side's first message has no descriptor of its memory, so the other "
        "process does not follow the protocol; run the same version of hatrpcd at both ends");
  auto other = std::make_unique<Other>();
  HAT_TRY(other->pair, map_as(hello.descriptors[0], sizeof(Pair)));
  HAT_TRY(other->table, map_as(hello.descriptors[1], sizeof(RegionTable)));
  other->receives_doorbell = std::move(hello.descriptors[2]);
  other->sends_doorbell = std::move(hello.descriptors[3]);
  auto& pair = *reinterpret_cast<Pair*>(other->pair->bytes().data());
  other->out = &pair.directions[1];
  other->in = &pair.directions[0];
  other->in->rights.store(rights_of(options_.access));
  other->channel = std::move(channel);
  other_ = std::move(other);
  const ChannelMessage welcome{.kind = ChannelMessage::Kind::kWelcome};
  const bool sent =
      introduce(welcome, {fabric_.table_fd(), recv_cq_.doorbell(), send_cq_.doorbell()});
  if (!sent || !read_channel())
    return hat::fail(ErrorCode::kClosed, "loop fabric: the other side closed the connection");
  return {};
}

void LoopQueuePair::attach() {
  other_->ready = true;
  deadline_ = Clock::time_point::max();
  fabric_.set_alarm();
  set_receive_wake(recv_cq_.armed());
  set_send_wake(send_cq_.armed() == Wake::kAny);
  heavy_barrier();  // so the peer sees the wake flags, or this side sees the peer's entries
  if (there()) recv_cq_.ring_if_armed(true);
  start_early();
  ring_own_sender();
}

void LoopQueuePair::send_region(const LoopRegion& region) {
  if (!other_) return;
  const ChannelMessage message{.kind = ChannelMessage::Kind::kRegion, .key = region.rkey()};
  if (!other_->channel.send(message, {region.fd()})) other_is_gone();
}

bool LoopQueuePair::read_channel() {
  if (lingering_) {
    if (lingering_->channel.ended()) lingering_.reset();
    return true;
  }
  for (size_t i = 0; i < kMessagesPerRead; ++i) {
    ReceivedMessage got;
    const Channel::Got what = other_->channel.receive(got);
    if (what != Channel::Got::kMessage) return what == Channel::Got::kNothing;
    if (!heed(got)) return false;
  }
  return true;  // the next call reads the rest
}

// Acts on a control message. Returns false if the message breaks the format.
bool LoopQueuePair::heed(ReceivedMessage& got) {
  switch (got.message.kind) {
    case ChannelMessage::Kind::kWelcome: {
      if (other_->table || got.descriptors.size() != 3) return false;
      auto table = map_as(got.descriptors[0], sizeof(RegionTable));
      if (!table) return false;
      other_->table = std::move(*table);
      other_->receives_doorbell = std::move(got.descriptors[1]);
      other_->sends_doorbell = std::move(got.descriptors[2]);
      return true;
    }
    case ChannelMessage::Kind::kRegion: {
      if (got.descriptors.size() != 1 || other_->replaced.size() == kReplacedMax) return false;
      auto memory = map_as(got.descriptors[0], 1);
      if (!memory) return false;
      (*memory)->close_descriptor();  // the mapping stays
      Other::Memory& row = other_->memories[got.message.key % kRegionsMax];
      if (row.memory) other_->replaced.push_back(std::move(row.memory));
      row.memory = std::move(*memory);
      row.key = got.message.key;
      return true;
    }
    case ChannelMessage::Kind::kReady:
      if (!other_->table || other_->ready) return false;
      attach();
      return true;
    case ChannelMessage::Kind::kHello:
      break;
  }
  return false;
}

int LoopQueuePair::channel_fd() const {
  const Other* known = other_ ? other_.get() : lingering_.get();
  return known == nullptr ? -1 : known->channel.fd();
}

// Handles a peer that has died or has broken the format. If the peer may still access this side's
// memory, keeps what is known about the peer in lingering_.
void LoopQueuePair::other_is_gone() {
  if (!other_) return;
  say_failed();
  // Requests whose entries the peer has taken are done.
  gone_taken_ = other_->out->taken.load(std::memory_order_acquire);
  if (!other_->has_let_go()) {
    fabric_.watch_end(other_->channel.fd());
    lingering_ = std::move(other_);
  }
  other_.reset();
  gone_ = true;
  if (state_ == QueuePairState::kConnected) set_failing(Status::kRetryExceeded);
}

bool LoopQueuePair::settled() const {
  const Other* known = other_ ? other_.get() : lingering_.get();
  return known == nullptr || known->has_let_go();
}

// --- Errors ---

// Announces in the shared memory that this queue pair has failed. After this call, the peer begins
// no new access to this side's memory.
void LoopQueuePair::say_failed() {
  other_->out->sender_failed.store(1);
  other_->in->receiver_gone.store(1);
  heavy_barrier();
  if (attached()) ring_receiver(true);
}

void LoopQueuePair::fail() { set_failing(Status::kFlushed); }

// Puts the queue pair into the error state. The oldest request that is not done will complete with
// the status `why`, and all later requests as kFlushed.
void LoopQueuePair::set_failing(Status why) {
  if (state_ == QueuePairState::kError) return;
  state_ = QueuePairState::kError;
  why_failed_ = why;
  deadline_ = Clock::time_point::max();
  sends_.early = {};
  if (other_) say_failed();
  fabric_.report({.kind = FabricEvent::Kind::kQueuePairError,
                  .queue_pair = number_,
                  .detail = std::string(text(why))});
  send_cq_.ring_if_armed(true);
  if (&recv_cq_ != &send_cq_) recv_cq_.ring_if_armed(true);
}

void LoopQueuePair::set_deadline(std::chrono::nanoseconds wait) {
  deadline_ = Clock::now() + wait;
  fabric_.set_alarm();
}

void LoopQueuePair::check_deadline(Clock::time_point now) {
  if (now < deadline_ || state_ != QueuePairState::kConnected) return;
  deadline_ = Clock::time_point::max();
  if (!attached()) return set_failing(Status::kRetryExceeded);
  // The request does not fail if the peer has posted a receive meanwhile.
  if (other_->out->refused.load() != refused_at(deadline_for_, Refusal::kNoReceive)) return;
  if (taken_there() == deadline_for_) set_failing(Status::kRnrRetryExceeded);
}

}  // namespace hat::engine::loop
