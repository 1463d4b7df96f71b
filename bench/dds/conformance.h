// SPDX-License-Identifier: Apache-2.0
// bench/dds/conformance.h: tests of the queue and the hash table that run on any fabric. The test
// of a fabric instantiates the test suite:
//
//   INSTANTIATE_TEST_SUITE_P(Loop, DdsConformance, testing::Values(Ground{…}));
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "bench/dds/calls.h"
#include "bench/dds/hash_table.h"
#include "bench/dds/queue.h"

namespace hat::bench {

struct Ground {
  const char* name;
  Result<std::unique_ptr<engine::Fabric>> (*open_owner)();
  Result<std::unique_ptr<engine::Fabric>> (*open_client)();
  uint32_t operations;  // per client
};

class DdsConformance : public testing::TestWithParam<Ground> {
 protected:
  static constexpr QueueShape kQueue{.capacity = 16, .value_bytes = 32};
  static constexpr TableShape kTable{.offset = 8192, .buckets = 128, .value_bytes = 32};

  ~DdsConformance() override { stop(); }
  // Creates owners, which have memory for kQueue and kTable and answer calls until stop(). Creates
  // clients, which are connected to all owners.
  void start(size_t owners, size_t clients);
  // Stops the owners' threads. After that, the test may read the owners' memory.
  void stop();
  // Calls `body` for each client, each in its own thread, and returns when all calls have returned.
  void run(const std::function<void(size_t client)>& body);

  engine::Initiator& initiator(size_t client) { return *clients_[client].to.front(); }
  std::vector<engine::Initiator*> initiators(size_t client);
  std::span<std::byte> memory(size_t owner = 0) { return owners_[owner].target->memory(); }
  CallStore& store() { return *owners_[0].store; }
  uint32_t operations() const { return GetParam().operations; }

 private:
  struct Owner {
    std::unique_ptr<engine::Fabric> fabric;
    std::unique_ptr<engine::Target> target;
    std::unique_ptr<CallStore> store;
    std::thread thread;
  };
  struct Client {
    std::unique_ptr<engine::Fabric> fabric;
    std::vector<std::unique_ptr<engine::Initiator>> to;  // one initiator per owner
  };
  std::vector<Owner> owners_;
  std::vector<Client> clients_;
  std::atomic<bool> stops_ = false;
};

}  // namespace hat::bench
