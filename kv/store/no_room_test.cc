// SPDX-License-Identifier: Apache-2.0
// kv/store/no_room_test.cc: tests that a store whose map cannot grow refuses writes and still
// reads.
//
// The test is a program of its own, which is not built with sanitizers, because a sanitizer needs
// unlimited address space.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "kv/store/store.h"

namespace hat {
namespace {

constexpr uint64_t kRoomBytes = 64 << 20;  // address space that bound_address_space() leaves free
constexpr int kWritesMax = 100;            // writes of 1 MiB, more than the address space allows

bool bound_address_space() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + kRoomBytes;
  const rlimit limit{bytes, bytes};
  return pages != 0 && setrlimit(RLIMIT_AS, &limit) == 0;
}

// Limits the address space, fills a store, and returns an error text, or "" if all results are as
// expected. Must run in a child process, because the limit stays until the process ends.
std::string fill_without_room(const std::string& folder) {
  const auto store =
      Store::open({.folder = folder, .map_bytes = 64 << 10, .durability = Durability::kNoSync});
  if (!store) return store.error().message;
  const std::string value(1 << 20, 'v');
  if (!(*store)->put("first", "1")) return "the first write was refused";
  if (!bound_address_space()) return "cannot bound the address space";
  std::string refusal;
  for (int i = 0; i < kWritesMax && refusal.empty(); ++i) {
    const auto put = (*store)->put(std::to_string(i), value);
    if (!put) refusal = put.error().message;
  }
  if (refusal.find("the address space of hatkv has no space for a map") == std::string::npos) {
    return "the refusal was: '" + refusal + "'";
  }
  const auto first = (*store)->get("first");
  const auto large = (*store)->get("0");
  if (!first || !large || *first != "1" || *large != value) return "a value is not as it was";
  return "";
}

TEST(NoRoom, AMapThatCannotGrowRefusesWritesAndIsReadAsBefore) {
  std::string folder = testing::TempDir() + "hatkv-no-room-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string wrong = fill_without_room(folder + "/data");
    std::fprintf(stderr, "%s\n", wrong.c_str());
    _exit(wrong.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hat
