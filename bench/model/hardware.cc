// SPDX-License-Identifier: Apache-2.0
#include "bench/model/hardware.h"

#include <algorithm>
#include <array>

namespace hat::model {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// The hosts of D. Potter's master's thesis (RWTH Aachen, 2018): two Xeon E5-2643 v4 with 6 cores
// each, ConnectX-4 with 100 Gb/s, a cable of 0.5 m. `pcie_write`, `pcie_read`, `piece_bytes` and
// `wire` are chosen so that SENDs take as long as in its table of ib_send_lat: model_test compares
// them. Any other costs whose sums are equal would do as well.
constexpr Hardware kBroadwellConnectX4{
    .name = "broadwell-connectx4",
    .cores = 12,
    // Assumed, as the two next ones: together with a system call, a thread that waits for an event
    // answers some 5 µs later than one that polls.
    .interrupt = nanoseconds(1500),
    .wake_up = nanoseconds(1500),
    .switch_thread = nanoseconds(1200),
    .slice = milliseconds(3),  // sched_min_granularity of Linux with 8 or more cores
    .frame = nanoseconds(50),  // assumed: an echo that does nothing else
    // Assumed, as the next ones up to `relay`: a third to a half of what two-core-vm needs, which
    // is a virtual machine.
    .system_call = nanoseconds(150),
    .socket_message = nanoseconds(800),
    .tcp_message = nanoseconds(2500),
    .ring_message = nanoseconds(60),
    .wake_call = nanoseconds(600),
    .wake_idle_call = nanoseconds(1000),
    .poll_sockets = nanoseconds(500),
    .socket_event = nanoseconds(400),
    .iteration = nanoseconds(100),
    .relay = nanoseconds(250),
    .sleep_call = nanoseconds(800),  // assumed: epoll_wait and a read of the event
    .copied_per_ns = 10,             // assumed: a copy in the cache of the last level
    .summed_per_ns = 10,             // assumed: as a copy
    .doorbell = nanoseconds(80),     // assumed: a write to memory of the card, write-combined
    .request = nanoseconds(40),      // assumed: one or two cache lines
    .empty_poll = nanoseconds(20),   // assumed: a cache line that has not changed
    .completion = nanoseconds(30),   // assumed: a cache line that the card has written
    .pcie_write = nanoseconds(200),  // from the table
    .pcie_read = nanoseconds(530),   // from the table
    .pcie_per_ns = 13,               // PCIe 3.0 with 16 lanes: 15.75, less the heads of its packets
    .piece_bytes = 4096,             // from the table
    .message = nanoseconds(10),      // assumed: 100 million messages/s
    .wire = nanoseconds(245),        // from the table; with the card's work for a message
    .wire_per_ns = 12.5,             // EDR: 100 Gb/s
    .packet_bytes = 4096,            // the largest MTU
    .packet_head_bytes = 26,         // InfiniBand specification, chapter 5: LRH, BTH, ICRC, VCRC
};

// The hosts of HatRPC (SC'21), section 5.1: Xeon Gold 6132, 28 cores, ConnectX-5, EDR. Assumes the
// costs of the hosts above, and 90 ns for a switch.
constexpr Hardware skylake_connectx5() {
  Hardware hardware = kBroadwellConnectX4;
  hardware.name = "skylake-connectx5";
  hardware.cores = 28;
  hardware.wire += nanoseconds(90);
  return hardware;
}

// The virtual machine on which the results of docs/results.md were measured: two cores of an AMD
// EPYC under KVM, without an RDMA device. Its costs are chosen so that modelled calls of 64 B fit
// published measurements (docs/model.md has a table of how well); other costs might fit as well.
// Its card stands for the fabric `loop`: no wire, no PCIe, and no time for the bytes. So only small
// messages are modelled.
constexpr Hardware kTwoCoreVm{
    .name = "two-core-vm",
    .cores = 2,
    .interrupt = nanoseconds(3000),
    .wake_up = nanoseconds(15'000),
    .switch_thread = nanoseconds(1850),
    .slice = microseconds(1500),
    .frame = nanoseconds(250),
    .system_call = nanoseconds(300),
    .socket_message = nanoseconds(1900),
    .tcp_message = nanoseconds(1900),
    .ring_message = nanoseconds(130),
    .wake_call = nanoseconds(1200),
    .wake_idle_call = nanoseconds(8000),
    .poll_sockets = nanoseconds(1200),
    .socket_event = nanoseconds(2000),
    .iteration = nanoseconds(200),
    .relay = nanoseconds(500),
    .sleep_call = nanoseconds(800),
    .copied_per_ns = 10,
    .summed_per_ns = 10,
    .doorbell = nanoseconds(60),
    .request = nanoseconds(40),
    .empty_poll = nanoseconds(20),
    .completion = nanoseconds(30),
    .pcie_per_ns = 1000,
    .wire_per_ns = 1000,
};

constexpr std::array kAll = {kBroadwellConnectX4, skylake_connectx5(), kTwoCoreVm};

struct Cost {
  std::string_view name;
  Time Hardware::*member;
};
constexpr Cost kCosts[] = {
    {"interrupt", &Hardware::interrupt},
    {"wake_up", &Hardware::wake_up},
    {"switch_thread", &Hardware::switch_thread},
    {"slice", &Hardware::slice},
    {"frame", &Hardware::frame},
    {"sleep_call", &Hardware::sleep_call},
    {"doorbell", &Hardware::doorbell},
    {"request", &Hardware::request},
    {"empty_poll", &Hardware::empty_poll},
    {"completion", &Hardware::completion},
    {"pcie_write", &Hardware::pcie_write},
    {"pcie_read", &Hardware::pcie_read},
    {"message", &Hardware::message},
    {"wire", &Hardware::wire},
};

}  // namespace

const Hardware* find_hardware(std::string_view name) {
  const auto found = std::ranges::find(kAll, name, &Hardware::name);
  return found == kAll.end() ? nullptr : &*found;
}

std::vector<std::string> hardware_names() {
  std::vector<std::string> names;
  for (const Hardware& hardware : kAll) names.emplace_back(hardware.name);
  return names;
}

Time* find_cost(Hardware& hardware, std::string_view name) {
  const auto* found = std::ranges::find(kCosts, name, &Cost::name);
  return found == std::end(kCosts) ? nullptr : &(hardware.*found->member);
}

std::string cost_names() {
  std::string names;
  for (const Cost& cost : kCosts) names += (names.empty() ? "" : ", ") + std::string(cost.name);
  return names;
}

}  // namespace hat::model
