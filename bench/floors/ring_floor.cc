// SPDX-License-Identifier: Apache-2.0
// bench/floors/ring_floor.cc: measures a floor for calls over rings of shared memory.
//
//   ring_floor CLIENTS BYTES SECONDS RELAY_YIELDS APP_YIELDS
//
// Each client and its server thread have a slot of shared memory for each direction; a ring of
// shared memory connects the two relays. A relay calls sched_yield() at most RELAY_YIELDS times in
// a row without finding work, and then sleeps on its futex. A client or server thread calls
// sched_yield() at most APP_YIELDS times while it waits for a message, and then sleeps on its
// futex. The program prints the JSON object that bench/closed_loop.h describes, and the CPU time
// per call of the relays and of the server.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstring>

#include "bench/floors/dirty_bits.h"
#include "bench/floors/floor.h"

namespace {

using hat::bench::DirtyBits;
using hat::bench::Floor;
using hat::bench::FloorClient;
using hat::bench::FloorLoad;
using hat::bench::shared_array;
using hat::bench::shared_memory;

struct Load : FloorLoad {
  uint32_t relay_yields = 0;
  uint32_t app_yields = 0;
};

using Futex = std::atomic<uint32_t>;

// Sleeps while the futex has the value `seen`. May return early.
void sleep_on(Futex& futex, uint32_t seen) {
  syscall(SYS_futex, &futex, FUTEX_WAIT, seen, nullptr, nullptr, 0);
}

void wake(Futex& futex) { syscall(SYS_futex, &futex, FUTEX_WAKE, 1, nullptr, nullptr, 0); }

constexpr size_t kLine = 64;  // the size of a cache line

// Returns the size of a slot for a message.
size_t slot_bytes(const Load& load) { return (load.bytes + kLine - 1) / kLine * kLine; }

// Wakes a relay that sleeps.
class Doorbell {
 public:
  void ring() {
    if (state_->asleep.load() != 0 && state_->asleep.exchange(0) != 0) wake(state_->asleep);
  }

  // Sleeps until ring(), unless `has_work` returns true.
  template <class HasWork>
  void sleep_unless(const HasWork& has_work) {
    state_->asleep.store(1);
    if (!has_work()) sleep_on(state_->asleep, 1);
    state_->asleep.store(0);
  }

 private:
  struct alignas(kLine) State {
    Futex asleep{0};
  };
  State* state_ = shared_array<State>(1).data();
};

// The ring that carries messages from one relay to the other. It has a place for each client. This
// is enough, because a client has one call in flight. So no place is written again before it is
// read, and the writing relay does not need to know how far the other one has read.
class Wire {
 public:
  explicit Wire(const Load& load)
      : bytes_(load.bytes),
        slot_bytes_(slot_bytes(load)),
        mask_(std::bit_ceil(load.loop.clients) - 1),
        clients_(shared_array<uint32_t>(mask_ + 1).data()),
        messages_(shared_memory((mask_ + 1) * slot_bytes_)) {}

  // Adds a message. The other relay does not see the message before publish().
  void push(uint32_t client, const std::byte* message) {
    const size_t place = pushed_++ & mask_;
    clients_[place] = client;
    std::memcpy(messages_ + place * slot_bytes_, message, bytes_);
  }
  void publish() { head_->pushed.store(pushed_); }

  bool is_empty() const { return head_->pushed.load() == taken_; }

  // Calls `work` with the client and the bytes of each message. Returns false if there is none.
  template <class Work>
  bool take(const Work& work) {
    const uint64_t end = head_->pushed.load(std::memory_order_acquire);
    if (taken_ == end) return false;
    for (; taken_ != end; ++taken_) {
      const size_t place = taken_ & mask_;
      work(clients_[place], messages_ + place * slot_bytes_);
    }
    return true;
  }

 private:
  struct alignas(kLine) Head {
    std::atomic<uint64_t> pushed{0};
  };

  const size_t bytes_;
  const size_t slot_bytes_;
  const size_t mask_;
  uint32_t* const clients_;
  std::byte* const messages_;
  Head* const head_ = shared_array<Head>(1).data();
  uint64_t pushed_ = 0;  // the writing relay's own count
  uint64_t taken_ = 0;   // the reading relay's own count
};

// The relay of one host and its application threads, one for each client.
class Host {
 public:
  explicit Host(const Load& load)
      : load_(load),
        slot_bytes_(slot_bytes(load)),
        arrivals_(shared_array<Arrival>(load.loop.clients)),
        to_application_(shared_memory(load.loop.clients * slot_bytes_)),
        to_relay_(shared_memory(load.loop.clients * slot_bytes_)),
        dirty_(load.loop.clients) {}

  // Gives an application's message to the relay.
  void send(uint32_t client, const std::byte* message) {
    std::memcpy(to_relay_ + client * slot_bytes_, message, load_.bytes);
    dirty_.set(client);
    doorbell_.ring();
  }

  // Waits until the relay has delivered a message after the first `seen` ones, and counts it in
  // `seen`.
  void wait(uint32_t client, uint32_t& seen) {
    Arrival& arrival = arrivals_[client];
    for (uint32_t i = 0; i < load_.app_yields; ++i) {
      if (arrival.count.load(std::memory_order_acquire) != seen) break;
      sched_yield();
    }
    if (arrival.count.load(std::memory_order_acquire) == seen) {
      arrival.waits.store(1);
      while (arrival.count.load() == seen) sleep_on(arrival.count, seen);
      arrival.waits.store(0);
    }
    ++seen;
  }

  // Returns the last message that the relay delivered to this application thread.
  const std::byte* message(uint32_t client) const { return to_application_ + client * slot_bytes_; }

  // Carries messages between the applications and the other relay, and does not return.
  [[noreturn]] void relay(Wire& in, Wire& out, Doorbell& other) {
    uint32_t yields = 0;
    for (;;) {
      const bool sent = send_to(out, other);
      const bool received =
          in.take([this](uint32_t client, const std::byte* message) { deliver(client, message); });
      if (sent || received) {
        yields = 0;
      } else if (yields < load_.relay_yields) {
        ++yields;
        sched_yield();
      } else {
        doorbell_.sleep_unless([&] { return dirty_.any() || !in.is_empty(); });
        yields = 0;
      }
    }
  }

  Doorbell& doorbell() { return doorbell_; }

 private:
  // Counts the messages that the relay has delivered to one application thread.
  struct alignas(kLine) Arrival {
    Futex count{0};
    std::atomic<uint32_t> waits{0};  // 1: the application thread sleeps on `count`
  };

  bool send_to(Wire& out, Doorbell& other) {
    const bool found =
        dirty_.take([&](uint32_t client) { out.push(client, to_relay_ + client * slot_bytes_); });
    if (found) {
      out.publish();
      other.ring();
    }
    return found;
  }

  void deliver(uint32_t client, const std::byte* message) {
    std::memcpy(to_application_ + client * slot_bytes_, message, load_.bytes);
    Arrival& arrival = arrivals_[client];
    arrival.count.fetch_add(1);
    if (arrival.waits.load() != 0) wake(arrival.count);
  }

  const Load& load_;
  const size_t slot_bytes_;
  std::span<Arrival> arrivals_;
  std::byte* const to_application_;
  std::byte* const to_relay_;
  DirtyBits dirty_;
  Doorbell doorbell_;
};

class Client final : public FloorClient {
 public:
  Client(const Load& load, uint32_t number, Host& host)
      : FloorClient(load, number), number_(number), host_(host) {}

  void call() override {
    host_.send(number_, request().data());
    host_.wait(number_, seen_);
  }
  bool has_right_reply() const override { return is_request(host_.message(number_)); }

 private:
  const uint32_t number_;
  uint32_t seen_ = 0;
  Host& host_;
};

[[noreturn]] void serve(uint32_t client, Host& host) {
  for (uint32_t seen = 0;;) {
    host.wait(client, seen);
    host.send(client, host.message(client));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Load load;
  load.loop.program = "ring_floor";
  const auto yields = [](uint32_t& into) {
    return hat::read_number(into, 0u, FloorLoad::kYieldsMax);
  };
  const auto status = parse_floor(
      {argv, argv + argc},
      {{"RELAY_YIELDS", yields(load.relay_yields)}, {"APP_YIELDS", yields(load.app_yields)}}, load);
  if (status) return *status;
  Host a(load);
  Host b(load);
  Wire requests(load);
  Wire replies(load);
  Floor floor(load);
  floor.start(Floor::Role::kRelay, [&] { a.relay(replies, requests, b.doorbell()); });
  floor.start(Floor::Role::kRelay, [&] { b.relay(requests, replies, a.doorbell()); });
  floor.start_servers([&](uint32_t client) { serve(client, b); });
  floor.measure([&](uint32_t client) { return std::make_unique<Client>(load, client, a); });
}
