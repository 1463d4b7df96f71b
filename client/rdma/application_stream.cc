// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/application_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace hatrpc::rdma {

using hat::IoResult;

namespace {

// Removes as many bytes from the queue as `into` has. g++ 12 makes a loop over single bytes of
// std::ranges::copy().
void move_front(hat::ByteQueue& queue, std::span<std::byte> into) {
  if (into.empty()) return;
  std::memcpy(into.data(), queue.bytes().data(), into.size());
  queue.consume(into.size());
}

}  // namespace

// The worker's side of the stream. Its members are used only in the loop.
class ApplicationStream::WorkerSide final : public hat::ByteStream {
 public:
  WorkerSide(std::shared_ptr<ApplicationStream> stream, hat::StreamEvents& events)
      : stream_(std::move(stream)), events_(events) {
    DCHECK(stream_->worker_ == nullptr);
    stream_->worker_ = this;
  }
  ~WorkerSide() override {
    stream_->worker_ = nullptr;
    stream_->end_replies();
  }

  IoResult read(std::span<std::byte> into) override { return stream_->worker_reads(into); }
  IoResult write(std::span<const iovec> from) override { return stream_->worker_writes(from); }
  void shutdown_write() override { stream_->end_replies(); }
  void want_read(bool wanted) override {
    wants_read_ = wanted;
    if (wanted) stream_->note();
  }
  void want_write(bool wanted) override {
    wants_write_ = wanted;
    if (wanted) stream_->note();
  }
  void read_again() override {
    reads_again_ = true;
    stream_->note();
  }
  void abort_on_close() override {}  // the application's side sees the end in either case

 private:
  friend class ApplicationStream;
  const std::shared_ptr<ApplicationStream> stream_;
  hat::StreamEvents& events_;
  bool wants_read_ = false;
  bool wants_write_ = false;
  bool reads_again_ = false;
};

std::unique_ptr<hat::ByteStream> ApplicationStream::worker_side(hat::StreamEvents& events) {
  return std::make_unique<WorkerSide>(shared_from_this(), events);
}

// --- The application's side ---

ApplicationStream::Outcome ApplicationStream::await_readable(hat::TimePoint deadline) {
  const auto is_readable = [this] {
    const std::lock_guard lock(mutex_);
    return !replies_.empty() || worker_life_ == Life::kEnded || is_interrupted_;
  };
  if (!loop_->run_until(reader_, is_readable, deadline)) return Outcome::kTimedOut;
  const std::lock_guard lock(mutex_);
  if (!replies_.empty()) return Outcome::kOk;
  return is_interrupted_ ? Outcome::kInterrupted : Outcome::kEnd;
}

ApplicationStream::Outcome ApplicationStream::read(std::span<std::byte> into,
                                                   hat::TimePoint deadline, size_t& bytes) {
  const Outcome outcome = await_readable(deadline);
  if (outcome != Outcome::kOk) return outcome;
  bool has_space_again = false;
  {
    const std::lock_guard lock(mutex_);
    bytes = std::min(into.size(), replies_.size());
    move_front(replies_, into.first(bytes));
    has_space_again = worker_awaits_space_ && replies_.size() <= kBytesMax / 2;
    if (has_space_again) worker_awaits_space_ = false;
  }
  if (has_space_again) {
    note();
    flush();
  }
  return outcome;
}

bool ApplicationStream::has_bytes() const {
  const std::lock_guard lock(mutex_);
  return !replies_.empty();
}

ApplicationStream::Outcome ApplicationStream::write(std::span<const std::byte> from,
                                                    hat::TimePoint deadline) {
  while (!from.empty()) {
    const auto has_space = [this] {
      const std::lock_guard lock(mutex_);
      return requests_.size() < kBytesMax || !takes_requests_;
    };
    if (!loop_->run_until(writer_, has_space, deadline)) return Outcome::kTimedOut;
    {
      const std::lock_guard lock(mutex_);
      if (!takes_requests_) return Outcome::kEnd;
      const size_t bytes = std::min(from.size(), kBytesMax - requests_.size());
      requests_.append(from.first(bytes));
      from = from.subspan(bytes);
    }
    note();
  }
  return Outcome::kOk;
}

void ApplicationStream::close() {
  {
    const std::lock_guard lock(mutex_);
    application_ = Life::kEnded;
    replies_.clear();
  }
  note();
  flush();
}

void ApplicationStream::interrupt() {
  {
    const std::lock_guard lock(mutex_);
    is_interrupted_ = true;
  }
  loop_->wake(reader_);
  // The thread that reads may be the one that sleeps in the loop.
  loop_->interrupt();
}

// --- In the loop ---

// Makes the loop call on_news(), unless it will do so already.
void ApplicationStream::note() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_noted_, true)) return;
  }
  loop_->note(shared_from_this());
}

bool ApplicationStream::must_notify_worker() const {
  if (worker_ == nullptr || !worker_->wants_read_) return false;
  const std::lock_guard lock(mutex_);
  return !requests_.empty() || application_ == Life::kEnded;
}

bool ApplicationStream::on_news() {
  bool has_space = false;
  {
    const std::lock_guard lock(mutex_);
    is_noted_ = false;
    has_space = replies_.size() <= kBytesMax / 2;
  }
  if (worker_ != nullptr && worker_->wants_write_ && has_space) worker_->events_.on_writable();
  const bool again = worker_ != nullptr && std::exchange(worker_->reads_again_, false);
  if (must_notify_worker() || (again && worker_ != nullptr && worker_->wants_read_)) {
    worker_->events_.on_readable();
  }
  // The worker reads at most a part at once: level-triggered, as a socket.
  if (!must_notify_worker()) return false;
  const std::lock_guard lock(mutex_);
  return !std::exchange(is_noted_, true);
}

IoResult ApplicationStream::worker_reads(std::span<std::byte> into) {
  const std::unique_lock lock(mutex_);
  if (requests_.empty()) {
    return {.kind =
                application_ == Life::kEnded ? IoResult::Kind::kEnd : IoResult::Kind::kWouldBlock};
  }
  const size_t bytes = std::min(into.size(), requests_.size());
  const bool was_full = requests_.size() >= kBytesMax;
  move_front(requests_, into.first(bytes));
  if (was_full) loop_->wake(writer_);
  return {.kind = IoResult::Kind::kOk, .bytes = bytes};
}

IoResult ApplicationStream::worker_writes(std::span<const iovec> from) {
  const std::unique_lock lock(mutex_);
  if (application_ == Life::kEnded) return {.kind = IoResult::Kind::kError, .error = EPIPE};
  size_t taken = 0;
  for (const iovec& part : from) {
    const size_t bytes = std::min(part.iov_len, kBytesMax - replies_.size());
    replies_.append({static_cast<const std::byte*>(part.iov_base), bytes});
    taken += bytes;
    if (bytes == part.iov_len) continue;
    worker_awaits_space_ = true;
    break;
  }
  if (taken == 0) return {.kind = IoResult::Kind::kWouldBlock};
  loop_->wake(reader_);
  return {.kind = IoResult::Kind::kOk, .bytes = taken};
}

void ApplicationStream::end_replies() {
  const std::lock_guard lock(mutex_);
  worker_life_ = Life::kEnded;
  if (worker_ == nullptr) takes_requests_ = false;
  loop_->wake(reader_);
  loop_->wake(writer_);
}

}  // namespace hatrpc::rdma
