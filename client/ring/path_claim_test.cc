// SPDX-License-Identifier: Apache-2.0
// client/ring/path_claim_test.cc: tests that a claim removes a stale socket and nothing else.
#include "client/ring/path_claim.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace hatrpc::ring {
namespace {

class PathClaimTest : public testing::Test {
 protected:
  PathClaimTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~PathClaimTest() override {
    for (const int fd : fds_) close(fd);
    unlink(path().c_str());
    rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/a.ring"; }
  bool exists() const {
    struct stat info {};
    return lstat(path().c_str(), &info) == 0;
  }

  // Returns a socket that is bound to path(), or -1 if bind(2) fails.
  int bound(int type = SOCK_STREAM) {
    const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    sockaddr_un address{.sun_family = AF_UNIX};
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      fds_.push_back(fd);
      return fd;
    }
    close(fd);
    return -1;
  }
  // Binds path() and closes the socket, so that the path stays as after a killed server.
  void leave_behind(int type = SOCK_STREAM) {
    EXPECT_GE(bound(type), 0);
    close(fds_.back());
    fds_.pop_back();
    EXPECT_TRUE(exists());
  }
  void connect_and_stay() {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address{.sun_family = AF_UNIX};
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    (void)connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    fds_.push_back(fd);
  }

  std::string folder_ = "/tmp/hat_path_claim_test_XXXXXX";
  std::vector<int> fds_;
};

TEST_F(PathClaimTest, FreesThePathOfASocketThatNobodyListensAt) {
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    leave_behind(type);
    EXPECT_EQ(bound(type), -1) << "a path that exists cannot be bound";
    const PathClaim claim(path().c_str(), type);
    EXPECT_FALSE(exists());
  }
}

TEST_F(PathClaimTest, LeavesAServersPath) {
  ASSERT_EQ(listen(bound(), 0), 0);
  { const PathClaim claim(path().c_str()); }
  EXPECT_TRUE(exists());
  for (int i = 0; i < 4; ++i) connect_and_stay();  // fills the queue of connections
  { const PathClaim claim(path().c_str()); }
  EXPECT_TRUE(exists());
}

TEST_F(PathClaimTest, LeavesAFileThatIsNotASocket) {
  std::ofstream(path()) << "somebody's notes";
  { const PathClaim claim(path().c_str()); }
  EXPECT_TRUE(exists());
  ASSERT_EQ(unlink(path().c_str()), 0);
  ASSERT_EQ(symlink("/nowhere", path().c_str()), 0);
  { const PathClaim claim(path().c_str()); }
  EXPECT_TRUE(exists());
}

TEST_F(PathClaimTest, RemovesNothingWithoutTheFoldersLock) {
  leave_behind();
  const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(folder, LOCK_EX), 0);
  { const PathClaim claim(path().c_str()); }
  EXPECT_TRUE(exists()) << "whoever has the lock may just be about to listen there";
  close(folder);
  { const PathClaim claim(path().c_str()); }
  EXPECT_FALSE(exists());
}

TEST_F(PathClaimTest, GivesAPathToOneOfManyThatStartAtOnce) {
  for (int round = 0; round < 20; ++round) {
    leave_behind();
    std::vector<std::thread> servers;
    std::atomic<int> listening{0};
    std::atomic<bool> go{false};
    std::vector<int> sockets(4, -1);
    for (int& fd : sockets) {
      servers.emplace_back([&] {
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{.sun_family = AF_UNIX};
        path().copy(address.sun_path, sizeof address.sun_path - 1);
        while (!go) std::this_thread::yield();
        const PathClaim claim(path().c_str());
        if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
        std::this_thread::yield();  // here the socket is bound but refuses connections
        if (listen(fd, 1) == 0) ++listening;
      });
    }
    go = true;
    for (std::thread& server : servers) server.join();
    EXPECT_EQ(listening, 1) << "round " << round;
    for (const int fd : sockets) close(fd);
    unlink(path().c_str());
  }
}

}  // namespace
}  // namespace hatrpc::ring
