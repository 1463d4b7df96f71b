// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/loop/socket_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "engine/fabric/conformance.h"
#include "engine/fabric/loop/channel.h"
#include "engine/fabric/loop/loop_fabric.h"

namespace hat::engine {
namespace {

namespace fs = std::filesystem;

// A new folder, which ends with the object.
class NewFolder {
 public:
  NewFolder() {
    std::string path = fs::temp_directory_path() / "hatrpc-loop-test-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder() { fs::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_))
      names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::string path_;
};

Result<std::unique_ptr<Fabric>> open_in_the_folder() {
  static const NewFolder folder;
  return open_loop_fabric_in(folder.path());
}

TEST(SocketFolder, HasAFileForEachFabricUntilTheFabricEnds) {
  const NewFolder folder;
  {
    const auto fabric = open_loop_fabric_in(folder.path());
    ASSERT_TRUE(fabric) << fabric.error().message;
    EXPECT_THAT(folder.files(), testing::ElementsAre(testing::StartsWith("hatrpc-loop-")));
    const auto domain = (*fabric)->open_domain();
    ASSERT_TRUE(domain) << domain.error().message;
    EXPECT_EQ(folder.files().size(), 2u);
    EXPECT_EQ((*domain)->reach(), (*fabric)->reach());
  }
  EXPECT_THAT(folder.files(), testing::IsEmpty());
}

TEST(SocketFolder, LosesTheFilesOfKilledProcesses) {
  const NewFolder folder;
  const auto fabric = *open_loop_fabric_in(folder.path());
  const pid_t child = fork();
  if (child == 0) {
    const auto listener = loop::ChannelListener::open(folder.path());
    _exit(listener ? 0 : 1);  // without destructors, as if it had been killed
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(folder.files().size(), 2u);
  loop::remove_sockets_of_the_dead(folder.path());
  EXPECT_EQ(folder.files().size(), 1u) << "the file of the living fabric must stay";
}

TEST(SocketFolder, IsTheSameUnderAnyPath) {
  const NewFolder folder;
  const NewFolder other;
  const auto here = *open_loop_fabric_in(folder.path());
  EXPECT_EQ((*open_loop_fabric_in(folder.path() + "/."))->reach(), here->reach());
  EXPECT_NE((*open_loop_fabric_in(other.path()))->reach(), here->reach());
  EXPECT_NE((*open_loop_fabric())->reach(), here->reach());
}

TEST(SocketFolder, MustBelongToThisUserAlone) {
  const NewFolder folder;
  chmod(folder.path().c_str(), 0770);
  const auto shared = open_loop_fabric_in(folder.path());
  ASSERT_FALSE(shared);
  EXPECT_THAT(shared.error().message, testing::HasSubstr("no other user may write"));
  chmod(folder.path().c_str(), 0755);
  EXPECT_TRUE(open_loop_fabric_in(folder.path()));
  const auto missing = open_loop_fabric_in(folder.path() + "/none");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, testing::HasSubstr("No such file"));
}

TEST(SocketFolder, APeerCanNameOnlySocketsOfLoopFabrics) {
  using namespace std::string_literals;
  const NewFolder folder;
  EXPECT_EQ(loop::socket_name(0x12ab), "hatrpc-loop-00000000000012ab");
  EXPECT_TRUE(loop::is_socket_name("hatrpc-loop-00000000000012ab"));
  for (const std::string& name :
       {""s, "../x"s, "a/b"s, "/tmp/x"s, "admin.sock.takeover"s, "hatrpc-loop-"s,
        "hatrpc-loop-x\0y"s, "hatrpc-loop-00000000000012a"s, "hatrpc-loop-00000000000012abc"s,
        "hatrpc-loop-000000000000/2ab"s, "new-hatrpc-loop-00000000000012ab"s}) {
    for (const std::string& where : {folder.path(), ""s}) {
      const auto channel = loop::Channel::connect(name, where);
      ASSERT_FALSE(channel) << name;
      EXPECT_EQ(channel.error().code, ErrorCode::kProtocol) << name;
    }
  }
  EXPECT_FALSE(loop::address_of("/" + std::string(sizeof(sockaddr_un::sun_path), 'd'), "name"))
      << "the path is too long";
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(LoopInAFolder, FabricConformance, testing::Values(&open_in_the_folder));

}  // namespace hat::engine
