// SPDX-License-Identifier: Apache-2.0
// bench/model/hardware.h: what operations cost on the modelled hosts. Each number in hardware.cc
// has its source, or says why it is assumed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/model/schedule.h"

namespace hat::model {

// The costs of one kind of host and network card. "CPU" means processor time of the calling thread.
// Members   many, because each is one cost.
struct Hardware {
  std::string_view name;
  uint32_t cores = 1;  // of a host

  // --- The processor ---
  Time interrupt{};          // from the card's event until the thread is woken
  Time wake_up{};            // from there until the thread is ready: the scheduler's work
  Time switch_thread{};      // CPU: a core changes to this thread
  Time slice{};              // how long a thread keeps its core while others are ready
  Time frame{};              // CPU: one message in one application, without its copies
  Time system_call{};        // CPU: a system call that does nothing
  Time socket_message{};     // CPU: the kernel's work for a read or write on a socket of the host
  Time tcp_message{};        // CPU: the same for TCP between hosts
  Time ring_message{};       // CPU: a read or write on a ring
  Time wake_call{};          // CPU: a thread wakes another thread of the host
  Time wake_idle_call{};     // CPU: the same, if that thread gets an idle core
  Time poll_sockets{};       // CPU: hatrpcd looks whether sockets are ready
  Time socket_event{};       // CPU: its event loop finds one socket that is ready
  Time iteration{};          // CPU: one iteration of hatrpcd's event loop, without system calls
  Time relay{};              // CPU: hatrpcd's work for one read or one write of a stream
  Time sleep_call{};         // CPU: the system calls of a thread that goes to sleep
  double copied_per_ns = 1;  // CPU: bytes that a core copies in a nanosecond
  double summed_per_ns = 1;  // CPU: bytes of which a core computes the checksum in a nanosecond

  // --- The network card, as its host's processor uses it ---
  Time doorbell{};         // CPU: the write that starts the card
  Time request{};          // CPU: one work request is written
  Time empty_poll{};       // CPU: a look at a completion queue
  Time completion{};       // CPU: one completion is read
  Time pcie_write{};       // from the processor to the card, or from the card to memory
  Time pcie_read{};        // the card reads the host's memory: there and back
  double pcie_per_ns = 1;  // bytes in a nanosecond, in each direction
  // The card moves a message in pieces of at most this size: it sends a piece when it has read all
  // of it, and writes a piece to memory when all of it has arrived.
  uint32_t piece_bytes = 4096;

  // --- The network card and the network ---
  Time message{};          // the card's work for one message; the reciprocal of its message rate
  Time wire{};             // from card to card, with the switch
  double wire_per_ns = 1;  // bytes in a nanosecond
  uint32_t packet_bytes = 4096;
  uint32_t packet_head_bytes = 0;  // sent with each packet
};

// Returns the hardware of this name; nullptr if there is none.
const Hardware* find_hardware(std::string_view name);
std::vector<std::string> hardware_names();

// Returns a cost of calls over lanes by the name of its member, such as "doorbell"; nullptr if
// there is none.
Time* find_cost(Hardware& hardware, std::string_view name);
std::string cost_names();  // all, separated by ", "

}  // namespace hat::model
