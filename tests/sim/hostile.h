// SPDX-License-Identifier: Apache-2.0
// tests/sim/hostile.h: a process that sends what no client and no daemon sends: it connects to an
// endpoint, or to a link's address, again and again.
//
// A server recognises its messages: they are not in the call book.
#pragma once

#include <memory>
#include <string>

#include "tests/sim/sim_reactor.h"
#include "tests/sim/sim_thrift.h"

namespace hat::sim {

class Hostile final : public StreamEvents {
 public:
  enum class Plays : uint8_t { kClient, kPeer };
  // Targets an endpoint of `service`; for a peer, `service` is the node that listens at `target`.
  Hostile(SimNetwork& network, Plays plays, Address target, std::string service,
          const std::string& name, uint64_t seed);
  ~Hostile() override;

  // Opens one connection after another until `until`.
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
  bool reads_ = false;  // it reads the answers
  std::string out_;
  std::unique_ptr<Timer> next_;
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<ByteStream> ended_;  // one of its events may be running
};

// A server's answer to a message that is not in the book, and to those after it in its frame. The
// server recognises oneway functions by their names.
struct AnswerToHostile {
  std::string bytes;
  bool to_all = true;  // false: the server cannot read the rest of the frame
};
AnswerToHostile answer_to_hostile(const Dialect& dialect, const Message& message,
                                  std::string_view frame);

}  // namespace hat::sim
