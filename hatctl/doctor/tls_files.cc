// SPDX-License-Identifier: Apache-2.0
#include "hatctl/doctor/tls_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace hat::doctor {
namespace {

TlsFile look_at_file(const std::string& key, const std::string& path) {
  TlsFile file{.key = key, .path = path};
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  file.hidden = access(path.c_str(), R_OK) != 0 && errno == EACCES;
  if (error) {
    file.error = error.message();
    return file;
  }
  std::filesystem::path step;
  for (const auto& part : real) {
    step /= part;
    struct stat info {};
    if (stat(step.c_str(), &info) != 0) continue;  // another process has just removed this step
    file.way.push_back({step.string(), info.st_mode & 07777, info.st_uid, info.st_gid});
  }
  return file;
}

}  // namespace

std::vector<TlsFile> look_at(const TlsConfig& config) {
  return {look_at_file("certificate", config.certificate), look_at_file("key", config.key),
          look_at_file("ca", config.ca)};
}

}  // namespace hat::doctor
