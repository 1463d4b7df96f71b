// SPDX-License-Identifier: Apache-2.0
#include "daemon/tls/handshake_turns.h"

#include <gmock/gmock.h>

#include "daemon/tls/fake_certificates.h"
#include "daemon/tls/fake_tls_pair.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

struct Asker final : HandshakeTurns::Waiter {
  Asker(HandshakeTurns& those, std::vector<int>& log, int its_number)
      : turns(those), notified(log), number(its_number) {}
  void ask() {
    if (turns.take(*this)) on_turn();
  }
  void on_turn() override {
    EXPECT_TRUE(turns.take(*this));
    notified.push_back(number);
    turns.took(cost);
  }
  HandshakeTurns& turns;
  std::vector<int>& notified;
  int number;
  Duration cost = 1ms;
};

class Turns : public testing::Test {
 protected:
  Asker& asker() {
    askers_.push_back(std::make_unique<Asker>(turns_, told_, static_cast<int>(askers_.size())));
    return *askers_.back();
  }
  FakeReactor reactor_;
  HandshakeTurns turns_{reactor_};
  std::vector<int> told_;
  std::vector<std::unique_ptr<Asker>> askers_;
};

TEST_F(Turns, ComeInTheOrderOfAskingWithPausesThreeTimesAsLong) {
  for (int i = 0; i < 3; ++i) asker().ask();
  askers_[1]->ask();  // asks again: keeps its place in the queue
  EXPECT_THAT(told_, testing::ElementsAre(0));
  reactor_.advance(4ms - 1ns);
  EXPECT_THAT(told_, testing::ElementsAre(0));
  reactor_.advance(1ns);
  EXPECT_THAT(told_, testing::ElementsAre(0, 1));
  reactor_.advance(4ms);
  EXPECT_THAT(told_, testing::ElementsAre(0, 1, 2));
}

TEST_F(Turns, OfAFloodTakeAQuarterOfTheTime) {
  for (int i = 0; i < 256; ++i) asker().ask();
  reactor_.advance(100ms);
  EXPECT_EQ(told_.size(), 26u);
}

TEST_F(Turns, AreFreeWhereNobodyWaits) {
  Asker& one = asker();
  for (int i = 0; i < 3; ++i) {
    one.ask();
    reactor_.advance(4ms);
  }
  one.cost = HandshakeTurns::kFree - 1ns;
  for (int i = 0; i < 3; ++i) one.ask();
  EXPECT_EQ(told_.size(), 6u);
}

TEST_F(Turns, AreNotForWhoHasLeft) {
  for (int i = 0; i < 3; ++i) asker().ask();
  turns_.leave(*askers_[1]);
  reactor_.advance(1s);
  EXPECT_THAT(told_, testing::ElementsAre(0, 2));
}

TEST_F(Turns, OfHandshakesHoldUpNothingElse) {
  const auto connection = [](const char* node) {
    return fake_certificates().context(node)->new_connection();
  };
  std::vector<std::unique_ptr<TlsPair>> pairs;
  for (int i = 0; i < 3; ++i) {
    pairs.push_back(std::make_unique<TlsPair>(
        connection("one/host-a"), connection("one/host-b"), std::span<const std::string>(),
        std::span<const std::string>(), TlsStream::kRecordsPerKey, &turns_));
    pairs.back()->initiator.say("hello");
  }
  const auto heard = [&] {
    return std::ranges::count_if(
        pairs, [](const auto& pair) { return pair && pair->acceptor.heard == "hello"; });
  };
  for (auto& pair : pairs) pair->pump();
  EXPECT_EQ(heard(), 0) << "each has two steps of signing and verifying";
  EXPECT_FALSE(pairs[2]->acceptor.wire->reading)
      << "it would be notified of its bytes in each turn";
  pairs[1].reset();  // the peer gives up its handshake
  for (int i = 0; i < 100'000 && heard() != 2; ++i) {
    reactor_.advance(1ms);
    for (auto& pair : pairs) {
      if (pair) pair->pump();
    }
  }
  EXPECT_EQ(heard(), 2);
}

}  // namespace
}  // namespace hat
