#include "daemon/serving_file.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptor.h"

namespace hat {

ServingFile::ServingFile(std::string path) : path_(std::move(path)) { hide(); }

void ServingFile::show() {
  if (path_.empty()) return;
  constexpr mode_t kForAllToSee = 0644;
  const Descriptor file(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kForAllToSee));
  if (file.get() < 0) {
    LOG(ERROR) << "--serving-file " << path_ << ": cannot be made: " << std::strerror(errno)
               << "; whoever waits for it will think that this process does not serve";
  }
}

void ServingFile::hide() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace hat
