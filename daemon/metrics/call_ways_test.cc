// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/call_ways.h"

#include <gmock/gmock.h>

namespace hat {
namespace {

using engine::find_protocol;
using engine::Leg;
using engine::protocol;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Carrier, IsThePlannedProtocolIfItsLegHasCarriedTheMessage) {
  const struct {
    const char* planned;
    Leg leg;
    const char* expected;
  } rows[] = {
      {"rfp", Leg::kFetch0, "rfp"},
      {"rfp", Leg::kSend, "eager"},
      {"rfp", Leg::kWriteRndv, "write_rndv"},
      {"farm", Leg::kFetch1, "farm"},
      {"pilaf", Leg::kFetch2, "pilaf"},
      {"pilaf", Leg::kReadRndv, "read_rndv"},
      {"herd", Leg::kSend, "herd"},
      {"hybrid_eager_rndv", Leg::kSend, "hybrid_eager_rndv"},
      {"hybrid_eager_rndv", Leg::kWriteRndv, "write_rndv"},
      {"ar_grpc", Leg::kReadRndv, "read_rndv"},
      {"write_rndv", Leg::kWriteRndv, "write_rndv"},
      {"write_rndv", Leg::kSend, "eager"},
      {"eager", Leg::kWriteImm, "direct_write_imm"},
      {"eager", Leg::kBitmap, "hipower"},
  };
  for (const auto& row : rows) {
    const auto planned = *find_protocol(row.planned);
    EXPECT_EQ(name(carrier_by(row.leg, planned, protocol(planned).response)), row.expected)
        << row.planned << ", leg " << static_cast<int>(row.leg);
  }
}

TEST(LargestPiece, HasTheCarrierOfTheFirstOfTheLargestPieces) {
  LargestPiece pieces;
  EXPECT_EQ(pieces.carrier(), Carrier::kNone);
  const auto add = [&](uint32_t bytes, Carrier carrier) {
    pieces.add(bytes, [&] { return carrier; });
    return pieces.carrier();
  };
  const Carrier eager = carrier(*find_protocol("eager"));
  EXPECT_EQ(add(0, eager), eager) << "a piece can be empty";
  EXPECT_EQ(add(2, Carrier::kTcp), Carrier::kTcp);
  EXPECT_EQ(add(2, eager), Carrier::kTcp);
  EXPECT_EQ(add(1, eager), Carrier::kTcp);
  EXPECT_EQ(add(3, eager), eager);
}

TEST(CallWays, AreListedIfTheyWereUsedAndAddUp) {
  const CallWay first{Carrier{}, Carrier::kNone};
  const CallWay last{Carrier::kTcp, Carrier::kNone};
  CallWays here;
  CallWays there;
  CallWays::Counts counts{};
  here.add_to(counts);
  EXPECT_THAT(CallWays::list(counts), IsEmpty());
  EXPECT_FALSE(here.used());
  here.add(last);
  here.add(first);
  there.add(last);
  EXPECT_TRUE(here.used());
  here.add_to(counts);
  there.add_to(counts);
  EXPECT_THAT(CallWays::list(counts), ElementsAre(WayCount{first, 1}, WayCount{last, 2}));
}

// Each way has a counter of its own.
TEST(CallWays, HaveACounterEach) {
  CallWays ways;
  for (size_t request = 0; request + 1 < kCarrierCount; ++request) {
    for (size_t reply = 0; reply < kCarrierCount; ++reply) {
      ways.add({static_cast<Carrier>(request), static_cast<Carrier>(reply)});
    }
  }
  CallWays::Counts counts{};
  ways.add_to(counts);
  EXPECT_EQ(CallWays::list(counts).size(), kWayCount);
  EXPECT_THAT(counts, testing::Each(1u));
}

}  // namespace
}  // namespace hat
