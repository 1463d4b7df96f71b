// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/verbs/gid.h"

#include <gtest/gtest.h>

namespace hat::engine {
namespace {

constexpr GidBytes kOverIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1};
constexpr GidBytes kOverIpv6{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr GidBytes kLinkLocal{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0xff, 0xfe, 0, 0, 1};
constexpr GidBytes kLinkLocalEnd{0xfe, 0xbf, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr GidBytes kSiteLocal{0xfe, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

TEST(GidRank, PrefersWhatRoutersPassAndRefusesWhatLeadsNowhere) {
  const struct {
    const char* what;
    GidBytes gid;
    bool roce_v2;
    int rank;
  } rows[] = {
      {"v2 over IPv4", kOverIpv4, true, 3},
      {"v2 over IPv6", kOverIpv6, true, 2},
      {"v1 of an IPv4 address", kOverIpv4, false, 1},
      {"v1", kOverIpv6, false, 1},
      {"link-local", kLinkLocal, true, 0},
      {"the last link-local", kLinkLocalEnd, true, 0},
      {"beyond link-local", kSiteLocal, true, 2},
      {"link-local v1", kLinkLocal, false, 0},
      {"empty", GidBytes{}, true, 0},
  };
  for (const auto& row : rows) EXPECT_EQ(gid_rank(row.gid, row.roce_v2), row.rank) << row.what;
}

TEST(GidText, IsAnIpv6Address) {
  EXPECT_EQ(gid_text(kOverIpv4), "::ffff:10.77.0.1");
  EXPECT_EQ(gid_text(kOverIpv6), "2001:db8::1");
}

}  // namespace
}  // namespace hat::engine
