// SPDX-License-Identifier: Apache-2.0
// bench/floors/tcp_floor.cc: measures a floor for calls over sockets.
//
//   tcp_floor CLIENTS BYTES SECONDS YIELDS tcp|unix
//
// Each client has a connection to the first relay, and the second relay has a connection to a
// server thread for each client; the relays share memory. A relay calls sched_yield() after each
// iteration without work. After YIELDS such iterations in a row it sleeps in epoll_wait(); with -1
// it never sleeps. The program prints the JSON object that bench/closed_loop.h describes, and the
// CPU time per call of the relays and of the server.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <stdexcept>

#include "base/descriptor.h"
#include "bench/floors/dirty_bits.h"
#include "bench/floors/floor.h"

namespace {

using hat::Descriptor;
using hat::bench::DirtyBits;
using hat::bench::fail_floor;
using hat::bench::Floor;
using hat::bench::FloorClient;
using hat::bench::FloorLoad;
using hat::bench::shared_array;
using hat::bench::shared_memory;

struct Load : FloorLoad {
  int32_t yields = 0;  // -1: the relays never sleep
  bool is_tcp = true;
};

// --- Connections ---

struct Connection {
  Descriptor application;
  Descriptor relay;
};

sockaddr_in loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

in_port_t port_of(const Descriptor& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return address.sin_port;
}

// Accepts the connection from that port. Another program may have connected first; its connection
// is closed.
Descriptor accept_from(const Descriptor& listener, in_port_t port) {
  for (;;) {
    sockaddr_in from{};
    socklen_t size = sizeof(from);
    Descriptor accepted(accept(listener.get(), reinterpret_cast<sockaddr*>(&from), &size));
    if (accepted.get() < 0) fail_floor("cannot accept a connection");
    if (from.sin_port == port) return accepted;
  }
}

Connection connect_tcp() {
  sockaddr_in address = loopback();
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const Descriptor listener(socket(AF_INET, SOCK_STREAM, 0));
  if (bind(listener.get(), generic, sizeof(address)) != 0 || listen(listener.get(), 8) != 0) {
    fail_floor("cannot listen on 127.0.0.1");
  }
  address.sin_port = port_of(listener);
  Connection connection;
  connection.application = Descriptor(socket(AF_INET, SOCK_STREAM, 0));
  if (connect(connection.application.get(), generic, sizeof(address)) != 0) {
    fail_floor("cannot connect to 127.0.0.1");
  }
  connection.relay = accept_from(listener, port_of(connection.application));
  const int on = 1;
  for (const int fd : {connection.application.get(), connection.relay.get()}) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  return connection;
}

Connection connect_unix() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) fail_floor("cannot make sockets");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<Connection> connect_all(const Load& load) {
  std::vector<Connection> connections;
  for (uint32_t i = 0; i < load.loop.clients; ++i) {
    connections.push_back(load.is_tcp ? connect_tcp() : connect_unix());
  }
  return connections;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// --- Applications, whose sockets block ---

void send_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("cannot send");
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
}

void receive_all(int fd, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t received = recv(fd, bytes.data(), bytes.size(), MSG_WAITALL);
    if (received <= 0) throw std::runtime_error("cannot receive");
    bytes = bytes.subspan(static_cast<size_t>(received));
  }
}

class Client final : public FloorClient {
 public:
  Client(const Load& load, uint32_t number, int fd)
      : FloorClient(load, number), fd_(fd), reply_(load.bytes) {}

  void call() override {
    send_all(fd_, request());
    receive_all(fd_, reply_);
  }
  bool has_right_reply() const override { return is_request(reply_.data()); }

 private:
  const int fd_;
  std::vector<std::byte> reply_;
};

[[noreturn]] void serve(int fd, uint32_t bytes) {
  std::vector<std::byte> message(bytes);
  for (;;) {
    receive_all(fd, message);
    send_all(fd, message);
  }
}

// --- Relays ---

// The messages of one direction, from one relay to the other, in memory that both share. Each
// client has a slot for one message, because it has one call in flight. The sending relay may
// announce parts of a message.
class Messages {
 public:
  explicit Messages(const Load& load)
      : bytes_(load.bytes),
        slots_(shared_memory(size_t{load.loop.clients} * load.bytes)),
        progress_(shared_array<Progress>(load.loop.clients)),
        dirty_(load.loop.clients),
        doorbell_(eventfd(0, EFD_NONBLOCK)) {
    if (doorbell_.get() < 0) fail_floor("cannot make an eventfd");
  }

  // Returns the number of bytes of all of the client's messages so far.
  uint64_t count(uint32_t client) const {
    return progress_[client].count.load(std::memory_order_acquire);
  }
  // Returns the place of the byte after the client's first `count` bytes, and the rest of its
  // message.
  std::span<std::byte> rest(uint32_t client, uint64_t count) const {
    const size_t done = count % bytes_;
    return {slots_ + size_t{client} * bytes_ + done, bytes_ - done};
  }

  void add(uint32_t client, size_t bytes) {
    progress_[client].count.store(count(client) + bytes, std::memory_order_release);
    dirty_.set(client);
  }
  // Wakes the receiving relay if it sleeps.
  void ring() {
    if (asleep_->value.load() == 0 || asleep_->value.exchange(0) == 0) return;
    if (eventfd_write(doorbell_.get(), 1) != 0) fail_floor("cannot wake the other relay");
  }

  // The functions below are for the receiving relay.

  int doorbell() const { return doorbell_.get(); }
  // Calls `work` with each client for which bytes were added. Returns false if there is none.
  template <class Work>
  bool take(const Work& work) {
    return dirty_.take(work);
  }
  // Calls `wait` with true if the relay may sleep until ring(), otherwise with false.
  template <class Wait>
  int sleep(const Wait& wait) {
    asleep_->value.store(1);
    const int result = wait(!dirty_.any());
    asleep_->value.store(0);
    return result;
  }

 private:
  struct alignas(64) Progress {
    std::atomic<uint64_t> count{0};
  };
  struct alignas(64) Asleep {
    std::atomic<uint32_t> value{0};
  };

  const uint32_t bytes_;
  std::byte* const slots_;
  std::span<Progress> progress_;
  DirtyBits dirty_;
  Asleep* const asleep_ = shared_array<Asleep>(1).data();
  const Descriptor doorbell_;
};

// One relay: carries the bytes of its sockets to the other relay, and those of the other relay to
// its sockets. Its sockets are edge-triggered in epoll.
class Relay {
 public:
  Relay(const Load& load, const std::vector<int>& sockets, Messages& in, Messages& out)
      : yields_(load.yields), in_(in), out_(out), epoll_(epoll_create1(0)) {
    for (const int fd : sockets) {
      watch(EPOLL_CTL_ADD, fd, static_cast<uint32_t>(peers_.size()), EPOLLIN);
      peers_.push_back({fd});
    }
    watch(EPOLL_CTL_ADD, in_.doorbell(), kDoorbell, EPOLLIN);
  }

  [[noreturn]] void run() {
    for (int32_t fruitless = 0;;) {
      const bool may_sleep = yields_ >= 0 && fruitless >= yields_;
      const bool received = receive_from_sockets(may_sleep);
      const bool sent = in_.take([this](uint32_t client) { send_to(client); });
      if (received || sent) {
        fruitless = 0;
      } else if (!may_sleep) {
        if (yields_ >= 0) ++fruitless;
        sched_yield();
      }
    }
  }

 private:
  struct Peer {
    int fd;
    bool is_full = false;  // epoll reports when the socket has space again
    uint64_t sent = 0;     // bytes
  };
  static constexpr uint32_t kDoorbell = UINT32_MAX;

  void watch(int operation, int fd, uint32_t client, uint32_t events) {
    epoll_event event{.events = events | EPOLLET, .data = {.u32 = client}};
    if (epoll_ctl(epoll_.get(), operation, fd, &event) != 0) fail_floor("cannot watch a socket");
  }

  // Returns false if no socket was ready.
  bool receive_from_sockets(bool may_sleep) {
    std::array<epoll_event, 256> events;
    const auto wait = [&](bool sleeps) {
      return epoll_wait(epoll_.get(), events.data(), events.size(), sleeps ? -1 : 0);
    };
    const int ready = may_sleep ? in_.sleep(wait) : wait(false);
    if (ready < 0) return false;  // a signal
    bool found = false;
    for (const epoll_event& event : std::span(events).first(static_cast<size_t>(ready))) {
      const uint32_t client = event.data.u32;
      if (client == kDoorbell) continue;
      found = true;
      if ((event.events & EPOLLOUT) != 0) send_to(client);
      if ((event.events & EPOLLIN) != 0) receive(client);
    }
    if (found) out_.ring();
    return found;
  }

  // Receives at most the rest of the client's message. If the socket has fewer bytes, epoll reports
  // the next ones, see epoll(7). If the message is complete, none follow before its reply.
  void receive(uint32_t client) {
    const auto rest = out_.rest(client, out_.count(client));
    const ssize_t received = recv(peers_[client].fd, rest.data(), rest.size(), MSG_DONTWAIT);
    if (received > 0) {
      out_.add(client, static_cast<size_t>(received));
    } else if (received == 0 || errno != EAGAIN) {
      fail_floor("a relay cannot receive");
    }
  }

  // Sends what the other relay has added of the client's message, or as much as the socket takes.
  void send_to(uint32_t client) {
    Peer& peer = peers_[client];
    const uint64_t end = in_.count(client);
    while (peer.sent != end) {
      const auto rest = in_.rest(client, peer.sent).first(end - peer.sent);
      const ssize_t sent = send(peer.fd, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) {
        peer.sent += static_cast<uint64_t>(sent);
      } else if (errno != EAGAIN) {
        fail_floor("a relay cannot send");
      } else {
        break;
      }
    }
    const bool is_full = peer.sent != end;
    if (is_full == peer.is_full) return;
    peer.is_full = is_full;
    watch(EPOLL_CTL_MOD, peer.fd, client, is_full ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }

  const int32_t yields_;
  Messages& in_;
  Messages& out_;
  const Descriptor epoll_;
  std::vector<Peer> peers_;
};

std::vector<int> relay_sockets(const std::vector<Connection>& connections) {
  std::vector<int> sockets;
  for (const Connection& one : connections) sockets.push_back(one.relay.get());
  return sockets;
}

}  // namespace

int main(int argc, char** argv) {
  Load load;
  load.loop.program = "tcp_floor";
  const auto yields =
      hat::read_number(load.yields, -1, static_cast<int32_t>(FloorLoad::kYieldsMax));
  const auto kind = hat::read_one_of({"tcp", "unix"}, [&](size_t i) { load.is_tcp = i == 0; });
  const auto status =
      parse_floor({argv, argv + argc}, {{"YIELDS", yields}, {"tcp|unix", kind}}, load);
  if (status) return *status;
  raise_descriptor_limit();
  const auto clients = connect_all(load);
  const auto servers = connect_all(load);
  Messages requests(load);
  Messages replies(load);
  Floor floor(load);
  floor.start(Floor::Role::kRelay,
              [&] { Relay(load, relay_sockets(clients), replies, requests).run(); });
  floor.start(Floor::Role::kRelay,
              [&] { Relay(load, relay_sockets(servers), requests, replies).run(); });
  floor.start_servers([&](uint32_t i) { serve(servers[i].application.get(), load.bytes); });
  floor.measure(
      [&](uint32_t i) { return std::make_unique<Client>(load, i, clients[i].application.get()); });
}
