// SPDX-License-Identifier: Apache-2.0
// tests/sim/hostile.h: who sends what no client and no daemon would: a process that connects to an
// endpoint, or to a link's address, again and again.
//
// A server knows its messages by their being none of the call book's.
#pragma once

#include <memory>
#include <string>

#include "tests/sim/sim_reactor.h"
#include "tests/sim/sim_thrift.h"

namespace hat::sim {

class Hostile final : public StreamEvents {
 public:
  enum class Plays : uint8_t { kClient, kPeer };
  // `service`: of the endpoint; of a peer, the node that listens.
  Hostile(SimNetwork& network, Plays plays, Address target, std::string service,
          const std::string& name, uint64_t seed);
  ~Hostile() override;

  // Until then, connection after connection.
  void start(TimePoint until);

 private:
  void on_readable() override;
  void on_writable() override { push(); }
  void next();
  void connect();
  void push();
  void leave();

  SimNetwork& network_;
  SimHost host_;
  const Plays plays_;
  const Address target_;
  const std::string service_;
  Random random_;
  TimePoint until_{};
  bool reads_ = false;  // its answers
  std::string out_;
  std::unique_ptr<Timer> next_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Stream> ended_;  // an event of it may be running
};

// What a server says to what is no message of the book's, and to those after it in its frame. It
// knows oneway functions by their names.
struct AnswerToHostile {
  std::string bytes;
  bool to_all = true;  // false: it cannot read what else is in the frame
};
AnswerToHostile answer_to_hostile(const Dialect& dialect, const Message& message,
                                  std::string_view frame);

}  // namespace hat::sim
