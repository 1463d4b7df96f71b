// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/listening.h"

#include <glog/logging.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/accept_pause.h"
#include "base/check.h"
#include "daemon/reactor/socket_address.h"

namespace hatrpc::rdma {

hat::Result<std::unique_ptr<Listening>> Listening::open(Prepared prepared) {
  HAT_TRY(hat::ListenSocket socket, hat::ListenSocket::open(*prepared.node.link.listen));
  // Opens the fabric once now, so that an error occurs before the server runs.
  HAT_TRY(const auto trial, InnerNode::open(prepared));
  return std::unique_ptr<Listening>(new Listening(std::move(prepared), std::move(socket)));
}

Listening::Listening(Prepared prepared, hat::ListenSocket socket)
    : prepared_(std::move(prepared)),
      socket_(std::move(socket)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  PCHECK(wake_.get() >= 0) << "eventfd";
}

Listening::~Listening() {
  links_.clear();  // first, because their loops call connect()
}

// --- Accepting ---

std::shared_ptr<ApplicationStream> Listening::accept() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(is_interrupted_, false)) return nullptr;
      if (!waiting_.empty()) {
        auto stream = std::move(waiting_.front());
        waiting_.pop_front();
        std::erase_if(accepted_, [](const auto& each) { return each.expired(); });
        accepted_.push_back(stream);
        return stream;
      }
    }
    await_event();
  }
}

// Waits for a link or for news.
void Listening::await_event() {
  std::array<pollfd, 2> events{{{socket_.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
  if (poll(events.data(), events.size(), -1) < 0) {
    PCHECK(errno == EINTR) << "poll";
    return;
  }
  uint64_t count = 0;
  if (events[1].revents != 0) (void)!::read(wake_.get(), &count, sizeof count);
  forget_ended();
  if (events[0].revents != 0) accept_link();
}

void Listening::accept_link() {
  hat::Descriptor socket(accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.get() < 0) {
    // Without a pause, accept4() would fail again at once while the process has no descriptors.
    if (hat::accept_must_pause(errno)) std::this_thread::sleep_for(hat::kAcceptPause);
    return;
  }
  const auto& limits = prepared_.node.limits;
  if (links_.size() >= limits.links_max) {
    LOG_EVERY_T(WARNING, 1) << "TServerRdma: limits.max_links is reached; a link is refused";
    return;
  }
  hat::set_tcp_options(socket.get(),
                       std::chrono::floor<std::chrono::seconds>(limits.tcp_keepalive));
  auto node = InnerNode::open(prepared_);
  if (!node) {
    LOG_EVERY_T(WARNING, 1) << "TServerRdma: a link is refused: " << node.error().message;
    return;
  }
  InnerNode& made = **node;
  made.loop()->in_loop([&] {
    made.loop()->reactor().set_server([this, loop = std::weak_ptr(made.loop())](auto& events) {
      return connect(loop.lock(), events);
    });
    made.worker().accept_link([&](hat::StreamEvents& events) {
      return made.loop()->reactor().resume_accepted(std::move(socket), {}, events);
    });
  });
  auto keeper = std::make_unique<ServerKeeper>(made.loop(), [this, &made] {
    if (!made.worker().handed_over()) return false;
    wake();
    return true;
  });
  links_.push_back({std::move(*node), std::move(keeper)});
}

void Listening::forget_ended() {
  std::erase_if(links_, [](const Served& link) { return link.keeper->has_ended(); });
}

// Runs in the loop of a link.
std::unique_ptr<hat::ByteStream> Listening::connect(const std::shared_ptr<SharedLoop>& loop,
                                                    hat::StreamEvents& events) {
  auto stream = std::make_shared<ApplicationStream>(loop);
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kBacklogMax) return nullptr;
    waiting_.push_back(stream);
  }
  wake();
  return stream->worker_side(events);
}

// Makes accept() look for news.
void Listening::wake() {
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

// --- Interrupting ---

void Listening::interrupt() {
  {
    const std::lock_guard lock(mutex_);
    is_interrupted_ = true;
  }
  wake();
}

void Listening::interrupt_streams() {
  std::vector<std::weak_ptr<ApplicationStream>> accepted;
  {
    const std::lock_guard lock(mutex_);
    accepted = accepted_;
  }
  for (const auto& each : accepted) {
    if (const auto stream = each.lock()) stream->interrupt();
  }
}

}  // namespace hatrpc::rdma
