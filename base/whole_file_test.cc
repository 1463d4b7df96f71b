// SPDX-License-Identifier: Apache-2.0
#include "base/whole_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace hat {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WholeFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "whole-file-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::ofstream(file_ = folder_ / "m.yaml") << "old";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string contents(const fs::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  size_t files_in_folder() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  static struct stat status_of(const fs::path& file) {
    struct stat status {};
    EXPECT_EQ(stat(file.c_str(), &status), 0);
    return status;
  }

  fs::path folder_;
  fs::path file_;
};

TEST_F(WholeFiles, AreReplacedByAnotherFileWithTheSameModeAndOwner) {
  ASSERT_EQ(chmod(file_.c_str(), 02640), 0);
  const bool is_root = geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(chown(file_.c_str(), 12, 34), 0);
    ASSERT_EQ(chmod(file_.c_str(), 02640), 0);
  }
  const struct stat before = status_of(file_);
  const auto read = read_whole(file_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->text, "old");
  const auto replaced = replace_whole(*read, "new");
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_EQ(contents(file_), "new");
  const struct stat after = status_of(file_);
  EXPECT_NE(after.st_ino, before.st_ino) << "a reader of the old file must not see half a text";
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_gid, before.st_gid);
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(WholeFiles, AreReplacedAtTheEndOfSymbolicLinks) {
  const fs::path link = folder_ / "link.yaml";
  fs::create_symlink("m.yaml", link);
  ASSERT_TRUE(write_whole(link, "new"));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_FALSE(fs::is_symlink(file_));
  EXPECT_EQ(contents(file_), "new");
}

TEST_F(WholeFiles, StayIfTheyHaveChangedSinceTheyWereRead) {
  const auto read = read_whole(file_);
  ASSERT_TRUE(read);
  std::ofstream(file_) << "edited";
  const auto replaced = replace_whole(*read, "new");
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().code, ErrorCode::kBusy);
  EXPECT_THAT(replaced.error().message, HasSubstr(file_.string()));
  EXPECT_EQ(contents(file_), "edited");
}

TEST_F(WholeFiles, AreMadeIfThereAreNone) {
  const fs::path previous = fs::current_path();
  fs::current_path(folder_);
  const auto written = write_whole("new.yaml", "new");
  fs::current_path(previous);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(contents(folder_ / "new.yaml"), "new");
  EXPECT_EQ(status_of(folder_ / "new.yaml").st_mode & 0777u, 0644u);
}

TEST_F(WholeFiles, AreNotReadOrWrittenIfThisIsImpossible) {
  const auto missing = read_whole(folder_ / "none.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("none.yaml': No such file"));
  EXPECT_THAT(read_whole(folder_).error().message, HasSubstr("is not a regular file"));
  const auto written = write_whole(folder_ / "none/m.yaml", "new");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("none/"));
  EXPECT_FALSE(write_whole(folder_, "new")) << "a folder must not be replaced by a file";
  EXPECT_EQ(files_in_folder(), 1u);
}

}  // namespace
}  // namespace hat
