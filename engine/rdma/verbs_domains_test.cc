// SPDX-License-Identifier: Apache-2.0
// engine/rdma/verbs_domains_test.cc: tests the domains of an RdmaHost between the Soft-RoCE devices
// of the lab (tests/lab/devices.sh), and the limit on locked memory.
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/fabric/verbs/verbs_fabric.h"
#include "engine/memory/need.h"
#include "engine/rdma/domain_conformance.h"

namespace hat::engine {
namespace {

// Opens the first and the second device in turn.
Result<std::unique_ptr<Fabric>> open_in_turn() {
  static int opened = 0;
  HAT_TRY(std::unique_ptr<VerbsFabric> fabric,
          open_verbs_fabric({.device = opened++ % 2 == 0 ? "rxe1" : "rxe2"}));
  return fabric;
}

INSTANTIATE_TEST_SUITE_P(Verbs, DomainConformance, testing::Values(&open_in_turn));

// Takes the right to lock more memory than RLIMIT_MEMLOCK from this process, and sets the limit.
void limit_locked_memory(rlim_t bytes) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> data{};
  ASSERT_EQ(syscall(SYS_capget, &header, data.data()), 0);
  data[0].effective &= ~(1u << CAP_IPC_LOCK);
  ASSERT_EQ(syscall(SYS_capset, &header, data.data()), 0);
  const rlimit limit{bytes, bytes};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

void link_beyond_the_locked_memory() {
  limit_locked_memory(7 << 20);
  FakeReactor reactor;
  const RdmaDomainOptions options{.arena = {.bytes = {1 << 20, 1 << 20, 1 << 20}},
                                  .poller = {.completions = 1024, .receives_max = 256},
                                  .spin = {}};
  const auto host = *RdmaHost::create(reactor, *open_in_turn(), options);
  EXPECT_EQ(this_host_memory().pinned, 0u) << "a host without lanes pins no memory";
  auto one = host->domain_for_link(), another = host->domain_for_link();
  ASSERT_TRUE(one && another);
  EXPECT_EQ(this_host_memory().pinned, 6u << 20);
  const auto third = host->domain_for_link();
  ASSERT_FALSE(third);
  EXPECT_TRUE(third.error().message.starts_with(
      "memlock allows 7 MiB, of which 6 MiB are in use, and RDMA needs 3 MiB of locked memory"))
      << third.error().message;
  one->reset();
  reactor.end_iteration();
  EXPECT_EQ(this_host_memory().pinned, 3u << 20);
  EXPECT_TRUE(host->domain_for_link());
}

// Runs in a child process, because the limits of a process cannot be raised again.
TEST(VerbsDomains, ALinkBeyondTheLockedMemoryHasNoDomain) {
  const pid_t child = fork();
  if (child == 0) {
    link_beyond_the_locked_memory();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hat::engine
