// SPDX-License-Identifier: Apache-2.0
// engine/fabric/conformance.h: the test suite that every fabric must pass. The test of each fabric
// instantiates the suite, for example:
//
//   INSTANTIATE_TEST_SUITE_P(Loop, FabricConformance, testing::Values(&open_loop_fabric));
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "engine/fabric/fabric.h"

namespace hat::engine {

// One host: a fabric, a region of memory, and the queues that a queue pair needs.
struct FabricSide {
  static constexpr size_t kMemoryBytes = 256 * 1024;
  static constexpr uint32_t kReceives = 128;

  FabricSide(OpenFabric open, RemoteAccess access);

  std::unique_ptr<QueuePair> make_queue_pair(QueuePairOptions options);
  QueuePairOptions options();
  Segment at(size_t offset, size_t bytes) const;
  void receive(uint64_t id, size_t offset, size_t bytes);
  void fill(size_t offset, const std::string& text);
  std::string read(size_t offset, size_t bytes) const;
  uint64_t word(size_t offset) const;
  void iterate();

  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<SharedMemory> memory;
  std::unique_ptr<MemoryRegion> region;
  std::unique_ptr<CompletionQueue> cq;
  std::unique_ptr<ReceiveQueue> srq;
  std::unique_ptr<QueuePair> qp;
  std::vector<Completion> completions;  // the completions that iterate() has polled so far
};

std::vector<uint64_t> ids(const std::vector<Completion>& completions);

class FabricConformance : public testing::TestWithParam<OpenFabric> {
 protected:
  // Creates two hosts, a_ and b_, and connects their queue pairs.
  void connect(RemoteAccess access = {.write = true, .read = true, .atomic = true},
               void (*change)(QueuePairOptions&) = nullptr);
  // Lets each of the two hosts handle its events and poll its completions once.
  void iterate();
  static constexpr std::chrono::seconds kPatience{20};  // an emulated machine is slow
  // Calls iterate() until `side` has `count` completions. Fails the test after kPatience.
  void wait_for(FabricSide& side, size_t count);
  Status status_of_one(const WorkRequest& work);

  std::unique_ptr<FabricSide> a_;
  std::unique_ptr<FabricSide> b_;
};

}  // namespace hat::engine
