// SPDX-License-Identifier: Apache-2.0
// engine/fake_member.h: for tests: a stream that waits for its turns on a lane.
#pragma once

#include <functional>

#include "engine/send_turns.h"

namespace hat::engine {

class FakeMember final : public SendTurns::Member {
 public:
  explicit FakeMember(uint32_t group = 0) : Member(group) {}
  int turns = 0;                  // how often on_turn() was called
  std::function<void()> on_each;  // called in each turn, if set

 private:
  void on_turn() override {
    ++turns;
    if (on_each) on_each();
  }
};

}  // namespace hat::engine
