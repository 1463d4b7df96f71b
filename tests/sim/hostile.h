// SPDX-License-Identifier: Apache-2.0
// tests/sim/hostile.h: a hostile process of the simulation: it connects again and again to a
// daemon's endpoint or link address, and sends bytes that no correct client or daemon sends.
//
// A simulated server recognises the messages of a hostile process, because the record of all honest
// calls (class CallBook) does not contain these messages.
#pragma once

#include <memory>
#include <string>

#include "tests/sim/sim_reactor.h"
#include "tests/sim/sim_thrift.h"

namespace hat::sim {

class Hostile final : public StreamEvents {
 public:
  enum class Plays : uint8_t { kClient, kPeer };
  // Attacks the address `target`. If the process plays a client, `target` is an endpoint of
  // `service`. If it plays a peer, `target` is the link address of the node named `service`.
  Hostile(SimNetwork& network, Plays plays, Address target, std::string service,
          const std::string& name, uint64_t seed);
  ~Hostile() override;

  // Opens one connection after another until the time `until`.
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
  bool reads_ = false;  // the process reads the answers on this connection
  std::string out_;
  std::unique_ptr<Timer> next_;
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<ByteStream> ended_;  // deleted later, because its callback may be running
};

// A simulated server's answer to a hostile message, and to the messages after this message in the
// same Thrift frame.
struct AnswerToHostile {
  std::string bytes;
  bool to_all = true;  // false if the server cannot decode the rest of the frame
};
AnswerToHostile answer_to_hostile(const Dialect& dialect, const Message& message,
                                  std::string_view frame);

}  // namespace hat::sim
