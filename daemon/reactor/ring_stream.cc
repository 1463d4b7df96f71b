// SPDX-License-Identifier: Apache-2.0
#include "daemon/reactor/ring_stream.h"

#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/cores.h"
#include "base/transitions.h"
#include "daemon/reactor/socket_address.h"

namespace hat {

namespace ring = hatrpc::ring;

// The largest ring, in bytes. An application that requests a larger one gets this size, because the
// daemon maps the ring's pages too.
constexpr uint64_t kRingBytesMax = 4 * 1024 * 1024;

RingStream::RingStream(LibeventReactor& reactor, Descriptor socket, ring::Side side,
                       StreamEvents& events)
    : reactor_(reactor), events_(events), socket_(std::move(socket)), side_(side) {
  event_assign(&event_, reactor.base_.get(), socket_.get(), EV_READ | EV_PERSIST, on_event, this);
  handshake_.emplace(side, socket_.get(), ring::kRingBytesDefault, kRingBytesMax);
  if (reactor.memory_node_ && side == ring::Side::kAcceptor) {
    // If the kernel refuses the node, which it permitted when the daemon started, the memory comes
    // from another node.
    handshake_->place_memory([node = *reactor.memory_node_](std::span<std::byte> mapped) {
      (void)prefer_numa_node(mapped, node);
    });
  }
  event_add(&event_, nullptr);
  greet();
}

RingStream::RingStream(LibeventReactor& reactor, Descriptor socket, ring::Memory memory,
                       ring::Side side, StreamEvents& events)
    : reactor_(reactor), events_(events), side_(side) {
  event_assign(&event_, reactor.base_.get(), socket.get(), EV_READ | EV_PERSIST, on_event, this);
  channel_.emplace(socket.release(), std::move(memory), side_);
  // Continues from the byte counters in shared memory. Wrong counters are harmless: the channel
  // checks them against the ring's size.
  channel_->resync_reads();
  channel_->resync_writes();
  event_add(&event_, nullptr);
  heat();  // polls at once: the other process may have read a doorbell's byte and not acted on it
}

RingStream::~RingStream() {
  reactor_.assert_in_loop();
  event_del(&event_);
  if (attention_ == Attention::kPolled) std::erase(reactor_.hot_rings_, this);
}

void RingStream::on_event(evutil_socket_t, short, void* self) {
  auto* stream = static_cast<RingStream*>(self);
  stream->reactor_.note_event();
  if (stream->handshake_) {
    stream->greet();
  } else if (stream->channel_) {
    stream->channel_->hear();
    // If the other side is gone, stops watching the socket, which would stay readable for ever.
    if (stream->channel_->gone()) event_del(&stream->event_);
  }
  stream->heat();
}

void RingStream::greet() {
  int error = handshake_->step();
  if (error == EAGAIN) return;
  ring::Memory memory = handshake_->take_memory();
  if (error == 0 && memory.ring_bytes() > kRingBytesMax) error = EMSGSIZE;
  if (error == 0) {
    if (side_ == ring::Side::kConnector) refuse_descriptors(socket_.get());
    channel_.emplace(socket_.release(), std::move(memory), side_);
    if (ends_writes_) channel_->end_writes();
  } else {
    error_ = error;
    event_del(&event_);
    LOG_EVERY_T(WARNING, 1)
        << "shared memory: a connection was refused: "
        << (error == EPROTO ? "the other side does not speak the ring protocol (docs/shm.md)"
                            : std::strerror(error));
  }
  handshake_.reset();
  heat();
}

// --- Hot and cold ---

void RingStream::heat() {
  hot_since_ = reactor_.now();
  if (attention_ == Attention::kPolled) return;
  if (attention_ == Attention::kDoorbell) channel_->stay_awake(ring::kForData | ring::kForSpace);
  change_to(Attention::kPolled);
  reactor_.hot_rings_.push_back(this);
}

void RingStream::change_to(Attention next) {
  static constexpr Transition<Attention> kTransitions[] = {
      {Attention::kNone, Attention::kPolled},
      {Attention::kPolled, Attention::kNone},
      {Attention::kPolled, Attention::kDoorbell},
      {Attention::kDoorbell, Attention::kPolled}};
  DCHECK(is_listed(kTransitions, attention_, next));
  attention_ = next;
}

bool RingStream::has_news() {
  if (error_ != 0) return reading_ || writing_;
  if (!channel_) return false;
  if (reading_ && (again_ || ended_)) return true;
  if (channel_->broken()) return reading_ || writing_;
  if (reading_ && (!channel_->readable().empty() || channel_->at_end())) return true;
  return writing_ && (!channel_->writable().empty() || channel_->gone());
}

void RingStream::notify() {
  hot_since_ = reactor_.now();
  const bool writes = writing_ && (error_ != 0 || channel_->broken() || channel_->gone() ||
                                   !channel_->writable().empty());
  // Delivers at most one event per poll, as for sockets, because the callback can destroy this
  // stream.
  if (writes) {
    events_.on_writable();
  } else if (reading_) {  // false if the other side has set its counters back
    again_ = false;
    events_.on_readable();
  }
}

uint32_t RingStream::wishes() const {
  return (reading_ ? ring::kForData : 0) | (writing_ ? ring::kForSpace : 0);
}

bool RingStream::cool() {
  if (has_news()) return false;
  const bool waits = channel_ && wishes() != 0;
  if (waits && !channel_->may_sleep(wishes())) return false;
  change_to(waits ? Attention::kDoorbell : Attention::kNone);
  return true;
}

void RingStream::arm() {
  if (channel_ && wishes() != 0) channel_->arm(wishes());
}

void RingStream::disarm() {
  if (channel_ && channel_->armed() != 0) channel_->stay_awake(ring::kForData | ring::kForSpace);
}

// --- ByteStream ---

void RingStream::want_read(bool wanted) {
  reading_ = wanted;
  again_ = again_ && wanted;
  if (wanted) heat();
}

void RingStream::want_write(bool wanted) {
  writing_ = wanted;
  if (wanted) heat();
}

IoResult RingStream::read(std::span<std::byte> into) {
  if (error_ != 0) return {IoResult::Kind::kError, 0, error_};
  if (!channel_) return {IoResult::Kind::kWouldBlock};
  if (channel_->broken()) return broken();  // write() can break the channel after the end was read
  if (ended_) return *ended_;
  const auto there = channel_->readable();
  if (channel_->broken()) return broken();
  if (there.empty()) {
    if (!channel_->at_end()) return {IoResult::Kind::kWouldBlock};
    ended_ = channel_->aborted() ? IoResult{IoResult::Kind::kError, 0, ECONNRESET}
                                 : IoResult{IoResult::Kind::kEnd};
    return *ended_;
  }
  const size_t count = std::min(into.size(), there.size());
  std::memcpy(into.data(), there.data(), count);
  take(count);
  return {IoResult::Kind::kOk, count};
}

std::span<const std::byte> RingStream::peek() {
  return channel_ && !ended_ ? channel_->readable() : std::span<const std::byte>();
}

IoResult RingStream::broken() {
  LOG_EVERY_T(WARNING, 1)
      << "shared memory: closed a connection, because the other side violated the "
         "ring protocol (docs/shm.md)";
  return {IoResult::Kind::kError, 0, EPROTO};
}

uint64_t RingStream::hold(size_t bytes, bool borrowed) {
  channel_->pass(bytes);
  if (held_.empty() && !borrowed) {
    channel_->release(bytes);
    return released_;
  }
  if (!borrowed && !held_.back().borrowed) {
    held_.back().bytes += bytes;
    return released_ + held_.size() - 1;
  }
  held_.push_back({bytes, borrowed});
  return released_ + held_.size() - 1;
}

void RingStream::give_back(uint64_t borrowed) {
  held_[borrowed - released_].borrowed = false;
  size_t bytes = 0;
  for (; !held_.empty() && !held_.front().borrowed; held_.pop_front(), ++released_) {
    bytes += held_.front().bytes;
  }
  if (bytes != 0) channel_->release(bytes);
}

std::shared_ptr<const std::span<std::byte>> RingStream::memory() {
  if (!channel_) return nullptr;
  struct Part {
    std::shared_ptr<const ring::Memory> all;
    std::span<std::byte> bytes;
  };
  const auto& all = channel_->memory();
  const auto part =
      std::make_shared<Part>(all, std::span(all->ring(ring::other(side_)), 2 * all->ring_bytes()));
  return {part, &part->bytes};
}

std::vector<int> RingStream::descriptors() const {
  if (!channel_ || error_ != 0 || ended_ || !held_.empty() || channel_->broken()) return {};
  return {channel_->fd(), channel_->memory()->fd()};
}

IoResult RingStream::write(std::span<const iovec> from) {
  if (error_ != 0) return {IoResult::Kind::kError, 0, error_};
  if (!channel_) return {IoResult::Kind::kWouldBlock};
  if (channel_->gone()) return {IoResult::Kind::kError, 0, EPIPE};
  size_t wanted = 0;
  for (const iovec& part : from) wanted += part.iov_len;
  const auto space = channel_->writable(wanted);
  if (channel_->broken()) return broken();
  size_t written = 0;
  for (const iovec& part : from) {
    const size_t count = std::min(part.iov_len, space.size() - written);
    std::memcpy(space.data() + written, part.iov_base, count);
    written += count;
  }
  if (written == 0) return {IoResult::Kind::kWouldBlock};
  channel_->publish(written);
  return {IoResult::Kind::kOk, written};
}

void RingStream::shutdown_write() {
  ends_writes_ = true;
  if (channel_) channel_->end_writes();
}

void RingStream::abort_on_close() {
  if (channel_) channel_->end_writes(ring::End::kAborted);
}

}  // namespace hat
