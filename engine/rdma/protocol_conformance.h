// SPDX-License-Identifier: Apache-2.0
// engine/rdma/protocol_conformance.h: the tests that every protocol must pass on every fabric. To
// run the tests on a fabric:
//
//   INSTANTIATE_TEST_SUITE_P(Loop, ProtocolConformance, every_protocol(&open_loop_fabric),
//                            case_name);
#pragma once

#include <gtest/gtest.h>

#include "engine/rdma/lane_side.h"

namespace hat::engine {

struct ProtocolCase {
  OpenFabric open;
  const Protocol* protocol;
};

std::string case_name(const testing::TestParamInfo<ProtocolCase>& info);

inline auto every_protocol(OpenFabric open) {
  std::vector<ProtocolCase> cases;
  for (const Protocol& protocol : kProtocols) cases.push_back({open, &protocol});
  return testing::ValuesIn(cases);
}

class ProtocolConformance : public testing::TestWithParam<ProtocolCase> {
 protected:
  static constexpr std::chrono::seconds kPatience{60};  // long, because an emulated machine is slow

  void connect(void (*change)(RdmaLaneOptions&) = nullptr, const ArenaOptions& arena = kTestArena);
  // Runs both sides until `holds()` returns true. Returns false if that takes longer than
  // kPatience.
  bool until(const std::function<bool()>& holds);
  void expect_answer(size_t index, uint64_t number, size_t bytes);

  std::unique_ptr<LaneSide> client_;
  std::unique_ptr<LaneSide> server_;
};

}  // namespace hat::engine
