// SPDX-License-Identifier: Apache-2.0
// bench/model/card.h: the network card of one modelled host, which all threads of the host share.
// It sends one message after another, and receives one after another.
//
// Thread   one thread runs all hosts of a model.
#pragma once

#include "bench/model/hardware.h"
#include "bench/model/schedule.h"

namespace hat::model {

Time time_for(uint64_t bytes, double per_ns);
// Returns how long PCIe carries the first or last piece of a message. It carries the other pieces
// while the wire carries a piece.
Time on_pcie(const Hardware& hardware, uint64_t bytes);

class Card {
 public:
  // Sends a message that the card can begin to send at `ready`. Returns when its last byte has
  // left.
  Time send(const Hardware& hardware, Time ready, uint64_t bytes);
  // Receives a message whose last byte arrives at `arrived`. Returns when the card has it.
  Time receive(const Hardware& hardware, Time arrived, uint64_t bytes);

 private:
  Time sends_until_{};     // the card is busy with messages to send
  Time receives_until_{};  // the card is busy with messages that arrive
};

}  // namespace hat::model
