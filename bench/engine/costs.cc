// bench/engine/costs.cc: what the fabric's own operations cost: RDMA-vs-RPC, Table I and Figure 3.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include "bench/engine/measure.h"
#include "bench/engine/two.h"
#include "engine/fabric/sleep.h"

namespace hat::bench {
namespace {

using namespace engine;
using Clock = std::chrono::steady_clock;

constexpr size_t kBytes = 1 << 16;
constexpr uint32_t kReceives = 64;

struct Card {
  QueuePairAddress address;
  uint64_t memory;
  uint32_t rkey;
};

struct Host {
  Host(const Settings& settings, const Wire& wire, bool second)
      : fabric(must(open_fabric(settings.fabric, second))),
        memory(must(SharedMemory::create("hatrpc-costs", kBytes))),
        region(must(fabric->register_memory(memory, {true, true, true}))),
        cq(must(fabric->create_completion_queue(1024))),
        srq(must(fabric->create_receive_queue(kReceives))),
        pair(must(fabric->create_queue_pair(
            {.send_cq = *cq, .recv_cq = *cq, .srq = *srq, .access = {true, true, true}}))) {
    for (uint32_t i = 0; i < kReceives; ++i) receive(i);
    other = wire.exchange(Card{pair->address(), region->address(), region->rkey()});
    must(pair->connect(other.address));
    wire.exchange('r');
    while (fabric->next_event()) {
    }
  }
  void receive(uint64_t id) {
    const Segment segment = at(4096 + 64 * id, 64);
    const ReceiveRequest request{.id = id, .segments = {&segment, 1}};
    srq->post({&request, 1});
  }
  Segment at(size_t offset, uint32_t bytes) const {
    return {region->bytes().data() + offset, bytes, region->lkey()};
  }
  void post(Opcode opcode, uint32_t bytes) {
    const Segment segment = at(0, bytes);
    const WorkRequest work{.opcode = opcode,
                           .solicited = true,
                           .segments = {&segment, 1},
                           .remote_address = other.memory,
                           .rkey = other.rkey,
                           .compare_or_add = 1};
    if (pair->post({&work, 1}) != 1) std::exit(1);
  }
  // Until a completion of this kind; receives are posted again.
  void wait(bool received, bool sleeps) {
    for (bool armed = false;;) {
      std::array<Completion, 8> done;
      const size_t count = cq->poll(done);
      bool found = false;
      for (size_t i = 0; i < count; ++i) {
        if (done[i].status != Status::kSuccess) std::exit(4);
        const bool is_receive = done[i].opcode == Opcode::kReceive;
        if (is_receive) receive(done[i].id);
        found |= is_receive == received;
      }
      if (found) return;
      if (count == 0 && ++empty_ % 10'000 == 0) {
        while (fabric->next_event()) {
        }
      }
      if (!sleeps || count != 0) continue;
      if (!std::exchange(armed, true)) {
        cq->arm(false);
        continue;  // what came before it is not told
      }
      armed = false;
      sleep_on({cq->event_fd(), fabric->event_fd()}, std::chrono::seconds(10));
      cq->take_events();
      while (fabric->next_event()) {
      }
    }
  }

  std::unique_ptr<Fabric> fabric;
  SharedMemory memory;
  std::unique_ptr<MemoryRegion> region;
  std::unique_ptr<CompletionQueue> cq;
  std::unique_ptr<ReceiveQueue> srq;
  std::unique_ptr<QueuePair> pair;
  Card other{};
  uint64_t empty_ = 0;
};

template <class Work>
double median_us(int rounds, const Work& work) {
  std::vector<double> all;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    work();
    all.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::ranges::nth_element(all, all.begin() + rounds / 2);
  return all[static_cast<size_t>(rounds) / 2];
}

}  // namespace

void measure_costs(const Settings& settings) {
  const int rounds = settings.fabric == "loop" ? 20'000 : 500;
  const int warm = rounds / 10;
  const auto bytes = static_cast<uint32_t>(std::min<size_t>(settings.bytes, 64));
  std::printf("{\"measurement\": \"costs\", \"fabric\": \"%s\", \"bytes\": %u",
              settings.fabric.c_str(), bytes);
  std::fflush(stdout);
  run_two(
      [&](Wire wire) {
        Host host(settings, wire, false);
        struct Operation {
          const char* name;
          Opcode opcode;
          uint32_t bytes;
        };
        for (const Operation& operation :
             {Operation{"put", Opcode::kWrite, bytes}, Operation{"get", Opcode::kRead, bytes},
              Operation{"compare_swap", Opcode::kCompareSwap, 8},
              Operation{"fetch_add", Opcode::kFetchAdd, 8}}) {
          const auto once = [&] {
            host.post(operation.opcode, operation.bytes);
            host.wait(false, false);
          };
          median_us(warm, once);
          std::printf(", \"%s_us\": %.3f", operation.name, median_us(rounds, once));
        }
        for (const bool sleeps : {false, true}) {
          const auto once = [&] {
            host.post(Opcode::kSend, bytes);
            host.wait(true, sleeps);
          };
          wire.exchange('s');
          median_us(warm, once);
          std::printf(", \"%s_us\": %.3f", sleeps ? "message_with_wake_ups" : "message",
                      median_us(rounds, once));
        }
        for (const size_t mebibytes : {1, 16}) {
          const SharedMemory memory = must(SharedMemory::create("hatrpc-costs", mebibytes << 20));
          std::ranges::fill(memory.bytes(), std::byte{1});
          const double took =
              median_us(9, [&] { must(host.fabric->register_memory(memory, {.write = true})); });
          std::printf(", \"register_%zu_mib_us\": %.1f", mebibytes, took);
        }
      },
      [&](Wire wire) {
        Host host(settings, wire, true);
        for (const bool sleeps : {false, true}) {
          wire.exchange('s');
          for (int i = 0; i < warm + rounds; ++i) {
            host.wait(true, sleeps);
            host.post(Opcode::kSend, bytes);
          }
        }
        while (!wire.ended()) sleep_on({host.fabric->event_fd()}, std::chrono::milliseconds(50));
      });
  std::printf("}\n");
}

}  // namespace hat::bench
