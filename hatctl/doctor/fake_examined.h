// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/fake_examined.h: describes invented hosts for tests of `hatctl doctor`: how to
// build each host, and the findings that doctor must report for this host.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "hatctl/doctor/checks.h"
#include "hatctl/doctor/device_rule.h"
#include "hatctl/doctor/fake_tree.h"
#include "hatctl/doctor/read_host.h"

namespace hat::doctor {

inline constexpr Verdict kOk = Verdict::kOk;
inline constexpr Verdict kWarn = Verdict::kWarn;
inline constexpr Verdict kFail = Verdict::kFail;

struct Expected {
  Verdict verdict;
  const char* check;
  const char* text;  // a part of: the finding's subject, ": ", the finding's text
  const char* mend;  // a part of the finding's `mend`
};

// One kind of host. `make` introduces problems; everything else on the host is in order.
struct Row {
  const char* name;
  std::function<void(FakeTree& tree, Examined& examined)> make;
  std::vector<Expected> expected;  // every finding that is not OK, and some that are
};

inline Examined well_configured() {
  Examined examined;
  examined.version = "1.2.3";
  examined.file.path = "/etc/hatrpc/hatrpcd.yaml";
  examined.file.present = true;
  examined.file.summary = "node a";
  examined.daemon.node = "a";
  examined.daemon.version = "1.2.3";
  examined.daemon.pid = 77;
  examined.daemon.workers = 2;
  return examined;
}

// Judges the host of the row. Fails the test if a finding that is not OK is not expected, or if an
// expected finding is missing.
inline void expect_said_of(const Row& row) {
  FakeTree tree;
  Examined examined = well_configured();
  row.make(tree, examined);
  examined.host = read_host(
      tree.root(), examined.daemon.answers() ? std::optional(examined.daemon.pid) : std::nullopt);
  // Sets the fabric that the daemon would choose if it started now, unless the row has set one.
  if (examined.daemon.fabric.empty()) {
    const bool device = examined.wants_device() && chosen(judge_devices(examined)) != nullptr;
    examined.daemon.fabric = device ? "verbs: it" : "loop: this host";
    examined.daemon.fabric_kind = device ? "verbs" : "loop";
  }
  const Findings findings = judge(examined);
  std::vector<bool> seen(row.expected.size());
  for (const Finding& finding : findings.all()) {
    const std::string text = finding.subject + ": " + finding.text;
    bool expected = finding.verdict == kOk;
    for (size_t i = 0; i < row.expected.size(); ++i) {
      const Expected& one = row.expected[i];
      if (finding.verdict != one.verdict || finding.check != one.check ||
          text.find(one.text) == std::string::npos) {
        continue;
      }
      EXPECT_THAT(finding.mend, testing::HasSubstr(one.mend)) << finding.check;
      expected = seen[i] = true;
    }
    EXPECT_TRUE(expected) << finding.check << ": " << text << "\n  " << finding.mend;
    EXPECT_EQ(finding.mend.empty(), finding.verdict == kOk) << finding.check << ": " << text;
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_TRUE(seen[i]) << row.expected[i].check << ": " << row.expected[i].text;
  }
}

// Returns the report of a device that the daemon's own code can use.
inline engine::DeviceReport usable_device(const std::string& name, uint8_t port, int gid_index,
                                          uint32_t packet_bytes) {
  return {.device = name,
          .usable = true,
          .port = port,
          .gid_index = gid_index,
          .packet_bytes = packet_bytes};
}

}  // namespace hat::doctor
