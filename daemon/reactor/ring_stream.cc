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
  if (error_ != 0) return reading() || writing();
  if (!channel_) return false;
  if (reading() && (again_ || ended_)) return true;
  if (channel_->broken()) return reading() || writing();
  if (reading() && (!channel_->readable().empty() || channel_->at_end())) return true;
  if (has_half_free()) return true;
  return writing() && (may_write() || channel_->gone());
}

void RingStream::notify() {
  hot_since_ = reactor_.now();
  const bool writes =
      writing() && (error_ != 0 || channel_->broken() || channel_->gone() || may_write());
  // Delivers at most one event per poll, as for sockets, because the callback can destroy this
  // stream.
  if (writes) {
    events_.on_writable();
  } else if (error_ == 0 && has_half_free()) {
    awaits_half_free_ = false;
    events_.on_half_free();
  } else if (reading()) {  // false if the other side has set its counters back
    again_ = false;
    events_.on_readable();
  }
}

uint32_t RingStream::wishes() const {
  const bool waits_for_space = (writing() && reserved_.empty()) || awaits_half_free_;
  return (reading() ? ring::kForData : 0) | (waits_for_space ? ring::kForSpace : 0);
}

bool RingStream::cool() {
  const bool waits = channel_ && wishes() != 0;
  if (waits) channel_->arm(wishes());
  // Checked after arm(), so that the other side sees the bits or this side sees the news.
  if (has_news()) {
    if (waits) channel_->stay_awake(wishes());
    return false;
  }
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

void RingStream::want(uint32_t event, bool wanted) {
  wanted_ = wanted ? wanted_ | event : wanted_ & ~event;
  if (wanted) heat();
}

void RingStream::want_read(bool wanted) {
  again_ = again_ && wanted;
  want(ring::kForData, wanted);
}

void RingStream::want_write(bool wanted) { want(ring::kForSpace, wanted); }

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

std::shared_ptr<const std::span<std::byte>> RingStream::mapped(ring::Side writer) {
  if (!channel_) return nullptr;
  struct Part {
    std::shared_ptr<const ring::Memory> all;
    std::span<std::byte> bytes;
  };
  const auto& all = channel_->memory();
  const auto part =
      std::make_shared<Part>(all, std::span(all->ring(writer), 2 * all->ring_bytes()));
  return {part, &part->bytes};
}

std::vector<int> RingStream::descriptors() const {
  if (!channel_ || error_ != 0 || ended_ || !held_.empty() || !reserved_.empty() ||
      channel_->broken()) {
    return {};
  }
  return {channel_->fd(), channel_->memory()->fd()};
}

IoResult RingStream::write(std::span<const iovec> from) {
  if (error_ != 0) return {IoResult::Kind::kError, 0, error_};
  if (!channel_) return {IoResult::Kind::kWouldBlock};
  if (channel_->gone()) return {IoResult::Kind::kError, 0, EPIPE};
  if (channel_->broken()) return broken();
  if (!reserved_.empty()) {
    // Only the bytes that were reserved first: others would take the space of the first.
    const Reserved& first = reserved_.front();
    if (from.front().iov_base != first.data) return {IoResult::Kind::kWouldBlock};
    DCHECK(from.size() == 1 && from.front().iov_len == first.bytes);
    return write_reserved();
  }
  channel_->rewind();
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

// --- Reserved space ---

// Returns how many bytes the space at `at` begins after the next byte to write. The ring is mapped
// twice in a row, so space that crosses the end of the ring is contiguous.
size_t RingStream::ahead(const std::byte* at) {
  const auto distance = static_cast<size_t>(at - channel_->writable(0).data());
  return distance & (channel_->memory()->ring_bytes() - 1);
}

std::span<std::byte> RingStream::reserve(size_t bytes) {
  if (error_ != 0 || !channel_ || ends_writes_ || channel_->gone() || channel_->broken()) return {};
  if (reserved_.empty()) channel_->rewind();
  const size_t before =
      reserved_.empty() ? 0 : ahead(reserved_.back().data) + reserved_.back().bytes;
  const auto space = channel_->writable(before + bytes);
  if (channel_->broken() || space.size() < before + bytes) return {};
  reserved_.push_back({space.data() + before, bytes});
  return space.subspan(before, bytes);
}

// Writes the bytes that were reserved first. They are moved if a space before them was given back
// unused.
IoResult RingStream::write_reserved() {
  const auto [data, bytes] = reserved_.front();
  reserved_.erase(reserved_.begin());
  const auto space = channel_->writable(bytes);
  if (space.size() < bytes) {  // the other side has set its counter back
    error_ = EPROTO;
    return broken();
  }
  std::byte* const to = space.data();
  // `to` + `distance` can differ from `data`, because each byte of the ring has two addresses. Only
  // with this one does memmove() see that the two ranges overlap.
  if (const size_t distance = ahead(data); distance != 0) std::memmove(to, to + distance, bytes);
  channel_->publish(bytes);
  return {IoResult::Kind::kOk, bytes};
}

// --- Space that is free again ---

// Returns how many written bytes the other side has not read yet. The result can be too high if it
// is at most `at_most`: up to this number, the function avoids a load of the other side's counter,
// which would be a cache miss for nearly every message.
size_t RingStream::unread(size_t at_most) {
  const size_t ring_bytes = channel_->memory()->ring_bytes();
  return ring_bytes - channel_->writable(ring_bytes - at_most).size();
}

bool RingStream::has_half_free() {
  if (!awaits_half_free_ || !channel_) return false;
  if (channel_->gone()) return true;  // nobody will read; only a write finds this out
  const size_t half = channel_->memory()->ring_bytes() / 2;
  return unread(half) <= half;
}

size_t RingStream::shortage(size_t bytes) {
  awaits_half_free_ = false;
  if (error_ != 0 || !channel_ || channel_->broken() || channel_->gone()) return 0;
  const size_t ring_bytes = channel_->memory()->ring_bytes();
  if (bytes > ring_bytes) return 0;
  const size_t used = unread(ring_bytes / 4);
  const size_t free = ring_bytes - used;
  if (channel_->broken() || bytes <= free) return 0;
  awaits_half_free_ = free < ring_bytes / 4;
  if (awaits_half_free_) heat();
  return bytes - free;
}

bool RingStream::unreserve(const std::byte* at) {
  const auto found = std::ranges::find(reserved_, at, &Reserved::data);
  if (found == reserved_.end()) return false;
  reserved_.erase(found);
  if (writing()) heat();
  return true;
}

void RingStream::shutdown_write() {
  ends_writes_ = true;
  if (channel_) channel_->end_writes();
}

void RingStream::abort_on_close() {
  if (channel_) channel_->end_writes(ring::End::kAborted);
}

}  // namespace hat
