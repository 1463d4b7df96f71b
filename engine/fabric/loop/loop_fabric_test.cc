// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/loop/loop_fabric.h"

#include <poll.h>
#include <sys/resource.h>

#include "base/descriptor.h"
#include "engine/fabric/conformance.h"

namespace hat::engine {
namespace {

bool readable(int fd) {
  pollfd one{.fd = fd, .events = POLLIN};
  return poll(&one, 1, 0) == 1;
}

// Two sides: `early` has called connect(), and `late` has not.
struct OneSideWaits {
  OneSideWaits() {
    a.qp = a.make_queue_pair(a.options());
    b.qp = b.make_queue_pair(b.options());
    // The side with the smaller address connects to the other side's listener.
    early = a.qp->address() < b.qp->address() ? &a : &b;
    late = early == &a ? &b : &a;
    EXPECT_TRUE(early->qp->connect(late->qp->address()));
  }
  static constexpr RemoteAccess kAll{.write = true, .read = true, .atomic = true};
  FabricSide a{&open_loop_fabric, kAll};
  FabricSide b{&open_loop_fabric, kAll};
  FabricSide* early = nullptr;
  FabricSide* late = nullptr;
};

TEST(LoopFabric, KeepsAHelloQuietlyUntilItsQueuePairConnects) {
  OneSideWaits pair;
  while (pair.late->fabric->next_event()) {
  }
  EXPECT_FALSE(readable(pair.late->fabric->event_fd())) << "it would spin";
  ASSERT_TRUE(pair.late->qp->connect(pair.early->qp->address()));
  pair.late->receive(1, 0, 8);
  const WorkRequest send{.opcode = Opcode::kSendImm};
  ASSERT_EQ(pair.early->qp->post({&send, 1}), 1u);
  std::array<Completion, 1> arrived;
  for (int i = 0; i < 10; ++i) {
    while (pair.early->fabric->next_event()) {
    }
    while (pair.late->fabric->next_event()) {
    }
  }
  EXPECT_EQ(pair.late->cq->poll(arrived), 1u);
}

// Keeps the process from opening another file descriptor while this object exists.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const Descriptor next(dup(0));
    const rlimit full{.rlim_cur = static_cast<rlim_t>(next.get()), .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &full);
  }
  NoDescriptorLeft(const NoDescriptorLeft&) = delete;
  NoDescriptorLeft& operator=(const NoDescriptorLeft&) = delete;
  ~NoDescriptorLeft() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(LoopFabric, SleepsWhileNoDescriptorIsLeftForWhoConnects) {
  OneSideWaits pair;
  {
    const NoDescriptorLeft scarce;
    while (pair.late->fabric->next_event()) {
    }
    EXPECT_FALSE(readable(pair.late->fabric->event_fd())) << "it would spin";
  }
  pollfd woken{.fd = pair.late->fabric->event_fd(), .events = POLLIN};
  ASSERT_EQ(poll(&woken, 1, 10'000), 1) << "it does not try again";
  ASSERT_TRUE(pair.late->qp->connect(pair.early->qp->address()));
  pair.late->receive(1, 0, 8);
  const WorkRequest send{.opcode = Opcode::kSendImm};
  ASSERT_EQ(pair.early->qp->post({&send, 1}), 1u);
  std::array<Completion, 1> arrived;
  size_t count = 0;
  for (int i = 0; i < 10 && count == 0; ++i) {
    while (pair.early->fabric->next_event()) {
    }
    while (pair.late->fabric->next_event()) {
    }
    count = pair.late->cq->poll(arrived);
  }
  EXPECT_EQ(count, 1u);
}

TEST(LoopFabric, WakesWhoPostedBeforeTheOtherSideWasThere) {
  OneSideWaits pair;
  const Segment from = pair.early->at(0, 8);
  const WorkRequest write{.opcode = Opcode::kWrite,
                          .segments = {&from, 1},
                          .remote_address = pair.late->region->address(),
                          .rkey = pair.late->region->rkey()};
  ASSERT_EQ(pair.early->qp->post({&write, 1}), 1u);
  std::array<Completion, 1> done;
  pair.early->cq->arm(false);
  EXPECT_EQ(pair.early->cq->poll(done), 0u);
  ASSERT_TRUE(pair.late->qp->connect(pair.early->qp->address()));
  while (pair.late->fabric->next_event()) {
  }
  EXPECT_TRUE(readable(pair.early->fabric->event_fd()));
  while (pair.early->fabric->next_event()) {
  }
  EXPECT_TRUE(readable(pair.early->cq->event_fd()));
  EXPECT_EQ(pair.early->cq->poll(done), 1u);
  EXPECT_EQ(done[0].status, Status::kSuccess);
}

TEST(LoopFabric, SaysWhatItDoesNotMake) {
  FabricSide side(&open_loop_fabric, {});
  auto options = side.options();
  options.send_entries = 257;
  const auto made = side.fabric->create_queue_pair(options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "loop fabric: 257 send entries; a queue pair has 1 to 256");
}

// Tests of atomics that only the loop fabric can pass: Soft-RoCE, for example, never answers a
// misaligned atomic.
class LoopAtomics : public FabricConformance {};
TEST_P(LoopAtomics, AMisalignedOneIsRefusedAndTouchesNothing) {
  for (const Opcode opcode : {Opcode::kFetchAdd, Opcode::kCompareSwap}) {
    connect();
    b_->fill(0, std::string(16, '\0'));
    const Segment local = a_->at(0, 8);
    EXPECT_EQ(status_of_one({.opcode = opcode,
                             .segments = {&local, 1},
                             .remote_address = b_->region->address() + 4,
                             .rkey = b_->region->rkey(),
                             .compare_or_add = opcode == Opcode::kFetchAdd ? 1u : 0u,
                             .swap = 1}),
              Status::kRemoteInvalid);
    EXPECT_EQ(b_->read(0, 16), std::string(16, '\0'));
  }
}
INSTANTIATE_TEST_SUITE_P(Loop, LoopAtomics, testing::Values(&open_loop_fabric));

}  // namespace

INSTANTIATE_TEST_SUITE_P(Loop, FabricConformance, testing::Values(&open_loop_fabric));

}  // namespace hat::engine
