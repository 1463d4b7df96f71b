// SPDX-License-Identifier: Apache-2.0
#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/descriptor.h"
#include "base/system_error.h"

namespace hat {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kModeOfNewFiles = 0644;
constexpr mode_t kModeBits = 07777;

std::unexpected<Error> cannot_write(const std::string& path, int error) {
  return fail_errno("cannot write '" + path + "'", error);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return fsync(fd) == 0;
}

// Gives the file `fd` the mode and the owner of the file `old`, if there is one.
bool take_mode_and_owner(int fd, const std::string& old) {
  struct stat of_old {};
  if (stat(old.c_str(), &of_old) != 0) {
    return errno == ENOENT && fchmod(fd, kModeOfNewFiles) == 0;
  }
  struct stat own {};
  if (fstat(fd, &own) != 0) return false;
  const bool same_owner = own.st_uid == of_old.st_uid && own.st_gid == of_old.st_gid;
  // A change of the owner can clear bits of the mode, so the mode is last.
  return (same_owner || fchown(fd, of_old.st_uid, of_old.st_gid) == 0) &&
         fchmod(fd, of_old.st_mode & kModeBits) == 0;
}

}  // namespace

Result<WholeFile> read_whole(const std::string& path) {
  std::error_code none;
  if (fs::exists(path, none) && !fs::is_regular_file(path, none)) {
    return fail(ErrorCode::kInvalid, "'" + path + "' is not a regular file");
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) {
    return fail_errno("cannot read '" + path + "'", errno == 0 ? EIO : errno);
  }
  return WholeFile{path, std::move(text)};
}

Result<void> write_whole(const std::string& path, const std::string& text) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(fs::absolute(path), error);
  if (error) return cannot_write(path, error.value());
  std::string fresh = target.parent_path() / ("." + target.filename().string() + ".XXXXXX");
  const Descriptor folder(open(target.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return cannot_write(target, errno);
  const Descriptor file(mkostemp(fresh.data(), O_CLOEXEC));
  if (file.get() < 0) return cannot_write(fresh, errno);
  const bool done = write_all(file.get(), text) && take_mode_and_owner(file.get(), target) &&
                    rename(fresh.c_str(), target.c_str()) == 0;
  if (!done) {
    const int reason = errno;
    unlink(fresh.c_str());
    return cannot_write(target, reason);
  }
  // Without this, a crash of the host could bring the old file back. The file is replaced even if
  // the file system cannot do this.
  (void)fsync(folder.get());
  return {};
}

Result<void> replace_whole(const WholeFile& file, const std::string& text) {
  HAT_TRY(const WholeFile now, read_whole(file.path));
  if (now.text != file.text) {
    return fail(ErrorCode::kBusy, "'" + file.path +
                                      "' has changed since it was read, and stays as it is; "
                                      "run the command again");
  }
  return write_whole(file.path, text);
}

}  // namespace hat
