// SPDX-License-Identifier: Apache-2.0
// engine/rdma/domain_conformance.h: tests that every fabric must pass: the domains of an RdmaHost,
// and a hostile peer that has a queue pair in one domain and attacks the memory of another domain.
// The test of each fabric instantiates the suite, for example:
//
//   INSTANTIATE_TEST_SUITE_P(Loop, DomainConformance, testing::Values(&open_loop_fabric));
//
// Each test first opens the fabric of the host, and then the fabric of its peer.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "engine/fabric/fabric.h"
#include "engine/rdma/rdma_host.h"
#include "tests/fake_reactor.h"

namespace hat::engine {

class DomainConformance : public testing::TestWithParam<OpenFabric> {
 protected:
  static constexpr RdmaDomainOptions kOptions{.arena = {.bytes = {1 << 20, 1 << 20, 1 << 20}},
                                              .poller = {.completions = 1024, .receives_max = 256},
                                              .spin = {}};
  static constexpr std::chrono::seconds kPatience{60};  // long, because an emulated machine is slow

  DomainConformance();
  // Runs the host's event loop and `other` in turn until `holds()` returns true. Returns false if
  // that takes longer than kPatience.
  bool until(const std::function<bool()>& holds, const std::function<void()>& other);

  FakeReactor reactor_;
  std::unique_ptr<RdmaHost> host_;
};

}  // namespace hat::engine
