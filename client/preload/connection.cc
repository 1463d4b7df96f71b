// SPDX-License-Identifier: Apache-2.0
#include "client/preload/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "client/preload/clock.h"
#include "client/preload/descriptors.h"
#include "client/preload/real.h"
#include "client/preload/socket_swap.h"
#include "client/ring/spinner.h"

namespace hatrpc::preload {
namespace {

constexpr int kReplacedError = -1;  // Connection::kReplaced, as an errno value
// After this number of writes without a read in between, put() polls the socket of the connection.
// Only the socket shows that the other process has died; the shared memory does not.
constexpr uint32_t kWritesUnheardMax = 16;
// The largest ring, in bytes, of an accepted connection. A client that requests a larger one gets
// this size.
constexpr uint64_t kRingBytesMax = 4 * 1024 * 1024;
// How long a send waits for a greeting, in milliseconds.
constexpr int64_t kGreetingMs = 2000;
// How long one step of a wait for space takes, in milliseconds.
constexpr int64_t kNapMs = 1;

// When the last pause of this thread in a non-blocking send ended, in nanoseconds.
constinit thread_local int64_t paused_ns = 0;

// Returns true if a non-blocking send may wait for a moment. An event loop calls send(2) for many
// connections in turn: without this limit, each client that does not read would delay all others.
bool may_pause() { return now_ns() - paused_ns >= kNapMs * 1'000'000; }

in_port_t some_port(ino_t seed) { return htons(static_cast<uint16_t>(32768 + seed % 28000)); }

ssize_t fail(ssize_t done, int error) {
  if (done > 0) return done;
  if (error == kReplacedError) return Connection::kReplaced;
  errno = error;
  return -1;
}

// Returns the SO_SNDTIMEO of the socket in milliseconds, or -1 if none is set.
int64_t send_timeout_ms(int fd) {
  timeval patience{};
  socklen_t bytes = sizeof patience;
  real::getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, &bytes);
  const int64_t ms = patience.tv_sec * 1000 + patience.tv_usec / 1000;
  return ms == 0 && patience.tv_usec == 0 ? -1 : ms;
}

// Returns true if `met`, a result of wait_to_meet(), says that the handshake has failed.
bool is_refusal(int met) { return met != EAGAIN && met != EINTR && met != kReplacedError; }

// Creates a connection whose handshake is not complete.
std::shared_ptr<Connection> make_unmet(int socket, ring::Side side, const Address& server) {
  const int hidden = descriptors::hide(socket);
  if (hidden < 0) return nullptr;
  try {
    return std::make_shared<Connection>(hidden, side, server);
  } catch (const std::bad_alloc&) {
    descriptors::close_hidden(hidden);
    return nullptr;
  }
}

}  // namespace

std::shared_ptr<Connection> Connection::make(int socket, ring::Memory memory, ring::Side side,
                                             const Address& server, uint32_t doorbells_asked,
                                             uint32_t doorbells_due) {
  const auto made = make_unmet(socket, side, server);
  if (made == nullptr) return nullptr;
  const Lock reader(made->reader_);
  return made->open(std::move(memory), doorbells_asked, doorbells_due, reader) == 0 ? made
                                                                                    : nullptr;
}

std::shared_ptr<Connection> Connection::make_accepted(int socket, const Address& server) {
  auto made = make_unmet(socket, ring::Side::kAcceptor, server);
  if (made == nullptr) return nullptr;
  made->handshake_.emplace(made->side_, made->socket_, ring::kRingBytesDefault, kRingBytesMax);
  made->handshake_->leave_a_doorbell();
  made->meet();
  return made;
}

Connection::Connection(int socket, ring::Side side, const Address& server)
    : socket_(socket),
      side_(side),
      server_(server),
      client_port_(some_port(inode_of(socket))),
      inode_(inode_of(socket)) {
  state_->nonblocking = (real::fcntl(socket, F_GETFL, nullptr) & O_NONBLOCK) != 0;
}

Connection::~Connection() {
  if (memory_fd_ >= 0) descriptors::close_hidden(memory_fd_);
  if (!channel_) {
    descriptors::close_hidden(socket_);
    return;
  }
  // Makes the socket an ordinary descriptor, because the destructor of channel_ closes it with this
  // library's close(), which ignores hidden descriptors.
  descriptors::kinds[socket_] = descriptors::Kind::kForeign;
}

void Connection::forget_threads() {
  new (&reader_) std::mutex;
  new (&writer_) std::mutex;
  doorbells_.forget_threads();
  options_.forget_threads();
}

// ---- The handshake ----

// Begins to use the rings. Returns 0 or an errno value.
int Connection::open(ring::Memory memory, uint32_t doorbells_asked, uint32_t doorbells_due,
                     const Lock& reader) {
  const int hidden = descriptors::hide(memory.fd());
  if (hidden < 0) return errno;
  real::close(memory.release_fd());
  try {
    channel_.emplace(socket_, std::move(memory), side_);
  } catch (const std::bad_alloc&) {
    descriptors::close_hidden(hidden);
    return ENOMEM;
  }
  memory_fd_ = hidden;
  state_->doorbells.asked = doorbells_asked;
  state_->doorbells.due = doorbells_due;
  channel_->resync_reads();
  channel_->resync_writes();
  settle(false, reader);
  met_.store(0, std::memory_order_release);
  return 0;
}

// Continues the handshake of an accepted connection without blocking. Returns 0 if the rings can be
// used, EAGAIN if the greeting has not arrived completely, or the error that has ended the
// handshake.
int Connection::meet() {
  int met = met_.load(std::memory_order_acquire);
  if (met != EAGAIN) return met;
  const Lock reader(reader_);
  met = met_.load(std::memory_order_relaxed);
  if (met != EAGAIN) return met;
  met = handshake_->step();
  if (met == EAGAIN) return EAGAIN;
  if (met == 0) met = open(handshake_->take_memory(), 0, 1, reader);
  handshake_.reset();
  if (met != 0) {
    real::shutdown(socket_, SHUT_RDWR);  // the other side learns at once that it was refused
    met_.store(met, std::memory_order_release);
  }
  return met;
}

// Waits until meet() does not return EAGAIN, and returns its result. Also returns EAGAIN and EINTR
// as recv(2) does, and kReplacedError if another thread has replaced `fd`.
int Connection::wait_to_meet(int fd) {
  int met = meet();
  while (met == EAGAIN) {
    char greeting;
    const ssize_t count = real::recv(fd, &greeting, sizeof greeting, MSG_PEEK);
    const int error = errno;
    if (!descriptors::holds(fd, this)) return kReplacedError;
    if (count < 0 && (error == EAGAIN || error == EINTR)) return error;
    met = meet();
  }
  return met;
}

int Connection::meet_within(int64_t ms) {
  const int64_t until = now_ms() + ms;
  int met = meet();
  while (met == EAGAIN) {
    pollfd greeting{socket_, POLLIN, 0};
    const int64_t left = until - now_ms();
    if (left <= 0) return EAGAIN;
    if (real::poll(&greeting, 1, static_cast<int>(left)) < 0) return EAGAIN;
    met = meet();
  }
  return met;
}

// ---- Reading ----

ssize_t Connection::receive(int fd, const Parts& into, int flags) {
  const bool waits = !state_->nonblocking && (flags & MSG_DONTWAIT) == 0;
  const bool all = (flags & MSG_WAITALL) != 0 && (flags & MSG_PEEK) == 0;
  if ((flags & (MSG_OOB | MSG_ERRQUEUE)) != 0) return fail(0, flags & MSG_OOB ? EINVAL : EAGAIN);
  if (into.bytes() == 0) return 0;
  if (const int met = waits ? wait_to_meet(fd) : meet(); met != 0) {
    return met == ECONNRESET ? 0 : fail(0, is_refusal(met) ? ECONNRESET : met);
  }
  size_t done = 0;
  while (true) {
    const ssize_t some = take(into, done, flags);
    if (some > 0) {
      unanswered_writes_.store(0, std::memory_order_relaxed);
      done += static_cast<size_t>(some);
      if (!all || done == into.bytes()) return static_cast<ssize_t>(done);
    } else if (some == 0) {
      return static_cast<ssize_t>(done);
    } else if (some != -EAGAIN) {
      return fail(static_cast<ssize_t>(done), static_cast<int>(-some));
    } else if (waits) {
      const int error = wait_for_data(fd);
      if (error != 0) return fail(static_cast<ssize_t>(done), error);
    } else if (!settle(true, Lock(reader_))) {
      return fail(static_cast<ssize_t>(done), EAGAIN);
    }
  }
}

// Copies bytes from the ring to `into`, after the first `skipped` bytes of `into`. Returns the
// number of bytes copied, 0 at the end of the stream, -EAGAIN if the ring is empty, or another
// negative errno value.
ssize_t Connection::take(const Parts& into, size_t skipped, int flags) {
  const Lock reader(reader_);
  if (is_shared_) channel_->resync_reads();
  if (state_->reads_shut) return 0;
  const auto there = channel_->readable();
  if (channel_->broken()) return -ECONNRESET;
  if (there.empty()) {
    if (!channel_->at_end()) return -EAGAIN;
    return channel_->aborted() ? -ECONNRESET : 0;
  }
  const size_t count = into.fill(skipped, there);
  if ((flags & MSG_PEEK) == 0) {
    channel_->consume(count);
    if (is_watched_ && count == there.size()) settle(false, reader);
  }
  return static_cast<ssize_t>(count);
}

bool Connection::has_data(const Lock&) {
  if (is_shared_) channel_->resync_reads();
  return state_->reads_shut || !channel_->readable().empty() || channel_->at_end() ||
         channel_->broken();
}

bool Connection::has_data() { return has_data(Lock(reader_)); }

// Prepares the socket for a wait: asks the other side for a doorbell, and reads old doorbells.
// Returns true if the ring has data or the stream has ended. Otherwise the socket will become
// readable when data or the end of the stream arrives.
//
// If `asks_kernel` is true, settle() also polls the socket, records whether the other side has
// closed it, and reads a doorbell that this side did not ask for. Pass true before a call returns
// EAGAIN: one event of an edge-triggered epoll can report both a doorbell and the end, and no
// second event follows, so without the poll the program would never learn of the end.
bool Connection::settle(bool asks_kernel, const Lock& reader) {
  const bool doorbell_seen = asks_kernel && (poll_socket() & POLLIN) != 0;
  doorbells_.ask(*channel_, ring::kForData);
  if (has_data(reader)) {
    doorbells_.take_all_but_one(*channel_);
    return true;
  }
  doorbells_.take_all(*channel_, doorbell_seen);
  return has_data(reader);  // checked again: take_all() can have found the end of the socket
}

short Connection::poll_socket() {
  pollfd socket{socket_, POLLIN | POLLRDHUP, 0};
  if (real::poll(&socket, 1, 0) <= 0) return 0;
  note(socket.revents);
  return socket.revents;
}

void Connection::note(short revents) {
  if (met_.load(std::memory_order_acquire) != 0) return;
  // If this side has shut down its reads, POLLRDHUP does not mean that the other side has ended.
  const short end = state_->reads_shut ? POLLHUP | POLLERR : POLLHUP | POLLERR | POLLRDHUP;
  if ((revents & end) != 0) channel_->lose();
}

// Waits until the ring has data or the stream ends. Returns 0, an errno value, or kReplacedError if
// another thread has replaced `fd`. The thread sleeps in recv(2), so that the kernel handles
// SO_RCVTIMEO, SA_RESTART and cancellation of the thread.
int Connection::wait_for_data(int fd) {
  ring::Spinner spinner(usual_wait_ns_[0]);
  while (spinner.again()) {
    if (has_data()) return 0;
  }
  if (settle(false, Lock(reader_))) return 0;
  while (true) {
    char doorbell;
    const ssize_t count = real::recv(fd, &doorbell, sizeof doorbell, MSG_PEEK);
    const int error = errno;
    if (!descriptors::holds(fd, this)) return kReplacedError;
    if (count < 0 && (error == EAGAIN || error == EINTR)) return has_data() ? 0 : error;
    if (count <= 0 && !state_->reads_shut) channel_->lose();
    if (count <= 0 || has_data() || settle(true, Lock(reader_))) return 0;
  }
}

size_t Connection::readable_bytes() {
  if (meet() != 0) return 0;
  const Lock reader(reader_);
  if (is_shared_) channel_->resync_reads();
  return state_->reads_shut ? 0 : channel_->readable().size();
}

// ---- Writing ----

ssize_t Connection::send(int fd, const Parts& from, int flags) {
  const bool waits = !state_->nonblocking && (flags & MSG_DONTWAIT) == 0;
  const int met = meet_to_send(waits);
  size_t done = 0;
  while (true) {
    const ssize_t some = met == 0 ? put(from, done) : -met;
    if (some < 0) {
      if (some == -EPIPE && done == 0 && (flags & MSG_NOSIGNAL) == 0) {
        pthread_kill(pthread_self(), SIGPIPE);
      }
      return fail(static_cast<ssize_t>(done), static_cast<int>(-some));
    }
    done += static_cast<size_t>(some);
    if (done == from.bytes()) {
      if (met == 0 && doorbells_.withdraw_space(*channel_)) settle(false, Lock(reader_));
      return static_cast<ssize_t>(done);
    }
    if (some != 0) continue;
    if (waits) {
      const int error = wait_for_space(fd);
      if (error != 0) return fail(static_cast<ssize_t>(done), error);
    } else if (done != 0 || !space_comes_soon()) {
      return fail(static_cast<ssize_t>(done), EAGAIN);
    }
  }
}

// Returns 0 if the rings can be used, or the errno value of a send(2) that needs them. A send waits
// for the greeting for a bounded time, because a send over TCP would not wait for the client.
int Connection::meet_to_send(bool waits) {
  if (met_.load(std::memory_order_acquire) == 0) return 0;
  int64_t timeout_ms = 0;
  if (waits) {
    timeout_ms = send_timeout_ms(socket_);
  } else if (may_pause()) {
    timeout_ms = kNapMs;
  }
  const int met = meet_within(timeout_ms < 0 ? kGreetingMs : std::min(timeout_ms, kGreetingMs));
  if (!waits && timeout_ms != 0) paused_ns = now_ns();
  return met == 0 || met == EAGAIN ? met : EPIPE;
}

// Copies bytes to the ring from `from`, after the first `skipped` bytes of `from`. Returns the
// number of bytes copied, 0 if the ring is full, or a negative errno value.
ssize_t Connection::put(const Parts& from, size_t skipped) {
  if (unanswered_writes_.fetch_add(1, std::memory_order_relaxed) % kWritesUnheardMax ==
      kWritesUnheardMax - 1) {
    poll_socket();
  }
  const Lock writer(writer_);
  if (is_shared_) channel_->resync_writes();
  if (channel_->writes_ended() || channel_->gone()) return -EPIPE;
  channel_->rewind();
  const auto space = channel_->writable(from.bytes() - skipped);
  if (channel_->broken()) return -ECONNRESET;
  const size_t count = from.empty(skipped, space);
  if (count != 0) channel_->publish(count);
  return static_cast<ssize_t>(count);
}

bool Connection::has_space() {
  const Lock writer(writer_);
  if (is_shared_) channel_->resync_writes();
  return !channel_->writable().empty() || channel_->writes_ended() || channel_->gone() ||
         channel_->broken();
}

// Waits until the ring has space. Returns 0, an errno value, or kReplacedError if another thread
// has replaced `fd`. The thread sleeps for kNapMs at a time. It does not wait for the socket to
// become readable: a doorbell for data that another thread will read would end that wait at once.
int Connection::wait_for_space(int fd) {
  ring::Spinner spinner(usual_wait_ns_[1]);
  while (spinner.again()) {
    if (has_space()) return 0;
  }
  const int64_t timeout_ms = send_timeout_ms(socket_);
  const int64_t from_ms = now_ms();
  while (!has_space()) {
    if (timeout_ms >= 0 && now_ms() - from_ms >= timeout_ms) return EAGAIN;
    // A signal does not end the wait, because this code cannot know whether the signal's handler
    // has SA_RESTART.
    if (real::poll(nullptr, 0, kNapMs) < 0 && errno != EINTR) return errno;
    poll_socket();
    if (!descriptors::holds(fd, this)) return kReplacedError;
  }
  return 0;
}

// Waits a short time for space in the ring, unless there is space or data already, or this thread
// has just waited (may_pause()). Returns true if the ring has space. The wait slows down a program
// that waits for POLLOUT with epoll: the kernel always reports the socket as writable, so such a
// program calls send(2) again and again.
bool Connection::space_comes_soon() {
  if (has_space()) return true;
  poll_socket();
  // If there is data, the program can read it instead of waiting for space.
  if (!has_data() && may_pause()) {
    ring::Spinner spinner(usual_wait_ns_[1]);
    while (spinner.again() && !has_space()) {
    }
    if (!has_space()) real::poll(nullptr, 0, kNapMs);
    paused_ns = now_ns();
  }
  doorbells_.ask(*channel_, ring::kForSpace);
  return has_space();
}

size_t Connection::unread_bytes() {
  if (meet() != 0) return 0;
  const Lock writer(writer_);
  if (is_shared_) channel_->resync_writes();
  const uint64_t ring_bytes = channel_->memory()->ring_bytes();
  return ring_bytes - std::min(channel_->writable(ring_bytes).size(), size_t{ring_bytes});
}

// ---- Reading and writing ----

int Connection::shutdown(int fd, int how) {
  if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) {
    errno = EINVAL;
    return -1;
  }
  if (meet() != 0) return real::shutdown(fd, how);
  if (how != SHUT_RD) {
    const Lock writer(writer_);
    if (is_shared_) channel_->resync_writes();
    channel_->end_writes();
  }
  if (how == SHUT_WR) return 0;
  // Shutting down the socket wakes the threads of this program that wait to read from it. From now
  // on the kernel rejects the doorbells that the other side sends.
  state_->reads_shut = true;
  return real::shutdown(fd, SHUT_RD);
}

short Connection::ready(short events) {
  if (const int met = meet(); met != 0) {
    // After a failed handshake, a read and a write return at once.
    return met == EAGAIN ? short{0} : static_cast<short>((events & ~POLLPRI) | POLLHUP);
  }
  short is = 0;
  {
    const Lock reader(reader_);
    if (has_data(reader)) is |= POLLIN | POLLRDNORM;
    const bool ended = state_->reads_shut || channel_->at_end();
    if (ended) is |= POLLRDHUP;
    if (ended && channel_->writes_ended()) is |= POLLHUP;
    if (channel_->broken() || (ended && channel_->aborted())) is |= POLLERR;
  }
  if ((events & (POLLOUT | POLLWRNORM)) != 0 && has_space()) is |= POLLOUT | POLLWRNORM;
  return is & (events | POLLHUP | POLLERR);
}

bool Connection::may_sleep(short events, bool woken) {
  if (const int met = meet(); met != 0) return met == EAGAIN;
  if ((events & (POLLIN | POLLRDNORM | POLLRDHUP)) != 0) settle(woken, Lock(reader_));
  return ready(events) == 0;
}

void Connection::watch() {
  is_watched_ = true;
  // Otherwise meet() calls settle() when the handshake is complete.
  if (meet() == 0) settle(false, Lock(reader_));
}

}  // namespace hatrpc::preload
