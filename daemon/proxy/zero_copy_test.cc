// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/zero_copy.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/rdma/lane_side.h"
#include "tests/fake_reactor.h"

namespace hat {
namespace {

// A byte stream whose bytes can be read in place, without read(), as those of a ring can.
struct RingInATest final : ByteStream {
  IoResult read(std::span<std::byte>) override { return {IoResult::Kind::kWouldBlock}; }
  IoResult write(std::span<const iovec>) override { return {IoResult::Kind::kWouldBlock}; }
  void shutdown_write() override {}
  void want_read(bool) override {}
  void want_write(bool) override {}
  void read_again() override {}
  void abort_on_close() override {}
  std::span<const std::byte> peek() override { return std::span(bytes).subspan(taken); }
  void take(size_t count) override { taken += count; }
  uint64_t borrow(size_t count) override {
    taken += count;
    return taken;
  }
  std::shared_ptr<const std::span<std::byte>> memory() override {
    return std::make_shared<const std::span<std::byte>>(bytes);
  }

  std::vector<std::byte> bytes = std::vector<std::byte>(10 * BulkSender::kBytesMin);
  size_t taken = 0;
};

TEST(BulkSenderTest, OffersBytesInPlaceAndRemovesThem) {
  struct Case {
    const char* what;
    uint64_t unexamined;
    size_t budget;
    size_t offered;  // the number of bytes that pass() offers; 0: pass() returns false
  };
  constexpr size_t kMin = BulkSender::kBytesMin;
  for (const Case& one : {Case{"all that the stream has", 1 << 30, 1 << 30, 10 * kMin},
                          Case{"what is not examined", 2 * kMin, 1 << 30, 2 * kMin},
                          Case{"what may be sent", 1 << 30, 3 * kMin, 3 * kMin},
                          Case{"too few are not examined", kMin - 1, 1 << 30, 0},
                          Case{"too few may be sent", 1 << 30, kMin - 1, 0}}) {
    SCOPED_TRACE(one.what);
    RingInATest ring;
    Counter sent;
    BulkSender bulk(sent);
    size_t offered = 0;
    const bool passed = bulk.pass(ring, one.unexamined, one.budget, [&](auto bytes) {
      EXPECT_EQ(bytes.data(), ring.bytes.data());
      EXPECT_EQ(ring.taken, 0u) << "the bytes stay until they are handled";
      offered = bytes.size();
    });
    EXPECT_EQ(passed, one.offered != 0);
    EXPECT_EQ(offered, one.offered);
    EXPECT_EQ(ring.taken, one.offered);
    EXPECT_EQ(sent.value(), 0u) << "nothing was sent without a copy";
  }
}

// The lane of one link, which sends to `far`, and the registrations in the link's domain.
struct LinkInATest {
  LinkInATest() {
    const engine::Protocol& protocol = engine::protocol(*engine::find_protocol("direct_write_imm"));
    join(near, far, options_for(protocol, protocol));
    far.on_call = [](const auto&, auto) {};
  }
  // Sends kBytesMin bytes of `ring` without a copy.
  void send(BulkSender& bulk, RingInATest& ring) {
    ASSERT_TRUE(bulk.pass(ring, BulkSender::kBytesMin, BulkSender::kBytesMin, [&](auto bytes) {
      const engine::FrameHeader header{.kind = engine::FrameKind::kCall, .stream = 1, .call = 1};
      EXPECT_TRUE(bulk.send(ring, {*near.lane, 1, {fabric, registered}, ranges}, header, bytes));
    }));
  }
  // Waits until the lane has returned the range of the last send().
  void wait_for_return() {
    for (int i = 0; i < 1000 && near.returned.empty(); ++i) {
      near.iterate();
      far.iterate();
    }
    ASSERT_EQ(near.returned.size(), 1u);
    ranges.returned(1, near.returned[0]);
    near.returned.clear();
  }
  // Returns how many registrations the fabric has.
  long registrations() const { return fabric.use_count() - 1; }

  engine::LaneSide near{&engine::open_loop_fabric};
  engine::LaneSide far{&engine::open_loop_fabric};
  // Counts the holders of near.fabric, and does not own it.
  std::shared_ptr<engine::Fabric> fabric{near.fabric.get(), [](engine::Fabric*) {}};
  FakeReactor reactor;
  Registrations registered{reactor};
  BorrowedRanges ranges;
};

TEST(BulkSenderTest, RegistersARingOnceForEachLinkAndWithdrawsIt) {
  LinkInATest one, another;
  RingInATest ring;
  Counter sent;
  BulkSender bulk(sent);
  EXPECT_EQ(one.registrations(), 0) << "no byte was lent";
  for (int round = 0; round < 3; ++round) {
    for (LinkInATest* link : {&one, &another}) {
      link->send(bulk, ring);
      link->wait_for_return();
    }
    EXPECT_EQ(one.registrations(), 1);
    EXPECT_EQ(another.registrations(), 1);
  }
  one.registered.domain_gone();
  EXPECT_EQ(one.registrations(), 0) << "the link has no lane any more";
  EXPECT_EQ(another.registrations(), 1);
  one.send(bulk, ring);
  EXPECT_EQ(one.registrations(), 1) << "the link has lanes again";
  another.send(bulk, ring);
  another.wait_for_return();
  bulk.end();
  EXPECT_EQ(another.registrations(), 0) << "the byte stream has ended";
  EXPECT_EQ(one.registrations(), 1) << "the lane still uses a range";
  one.wait_for_return();
  EXPECT_EQ(one.registrations(), 0);
}

TEST(BulkSenderDeathTest, OffersTheSameBytesTwice) {
  RingInATest ring;
  Counter sent;
  BulkSender bulk(sent);
  const auto pass = [&](auto take) { return bulk.pass(ring, 1 << 20, 1 << 20, take); };
  EXPECT_DEATH(pass([&](auto) { pass([](auto) {}); }), "another call of pass\\(\\) offers");
}

}  // namespace
}  // namespace hat
