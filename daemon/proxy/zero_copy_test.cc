// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/zero_copy.h"

#include <gtest/gtest.h>

#include <vector>

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

TEST(BulkSenderDeathTest, OffersTheSameBytesTwice) {
  RingInATest ring;
  Counter sent;
  BulkSender bulk(sent);
  const auto pass = [&](auto take) { return bulk.pass(ring, 1 << 20, 1 << 20, take); };
  EXPECT_DEATH(pass([&](auto) { pass([](auto) {}); }), "another call of pass\\(\\) offers");
}

}  // namespace
}  // namespace hat
