// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/serving_file.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hat {

namespace {

bool lock(const Descriptor& file) {
  return file.get() >= 0 && flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

ServingFile::ServingFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  const Descriptor left(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (lock(left)) unlink(path_.c_str());
}

void ServingFile::show() {
  if (path_.empty() || file_.get() >= 0) return;
  constexpr mode_t kForAllToSee = 0644;
  Descriptor file(open(path_.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, kForAllToSee));
  if (lock(file)) {
    file_ = std::move(file);
  } else {
    LOG(ERROR)
        << "--serving-file " << path_ << ": cannot be created: " << std::strerror(errno)
        << "; programs that check for this file will assume that this process does not serve";
  }
}

void ServingFile::hide() {
  if (file_.get() < 0) return;
  unlink(path_.c_str());
  file_ = Descriptor();
}

}  // namespace hat
