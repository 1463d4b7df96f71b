// SPDX-License-Identifier: Apache-2.0
// hintgen/output.cc: writes a new file next to the old one, then renames it.
#include "hintgen/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/system_error.h"

namespace hat::hintgen {
namespace {

namespace fs = std::filesystem;

constexpr int kLinksMax = 40;  // the number of symbolic links that Linux follows

Result<void> write_stream(std::FILE* file, const std::string& text, const std::string& name) {
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (written && std::fflush(file) == 0) return {};
  return fail_errno("cannot write " + name, errno);
}

Result<void> write_directly(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return fail_errno("cannot write '" + path + "'", errno);
  auto written = write_stream(file, text, "'" + path + "'");
  if (std::fclose(file) != 0 && written) {
    written = fail_errno("cannot write '" + path + "'", errno);
  }
  return written;
}

// Returns the file to which the symbolic links at `path` lead. The file need not exist.
Result<std::string> follow_links(const std::string& path) {
  fs::path file = path;
  for (int i = 0; i < kLinksMax; ++i) {
    std::error_code error;
    if (!fs::is_symlink(fs::symlink_status(file, error))) return file.string();
    const fs::path target = fs::read_symlink(file, error);
    if (error) return fail_errno("cannot write '" + path + "'", error.value());
    file = file.parent_path() / target;  // an absolute target replaces the directory
  }
  return fail(ErrorCode::kSystem, "cannot write '" + path + "': its symbolic links form a loop");
}

}  // namespace

Result<void> write_output(const std::string& path, const std::string& text) {
  if (path == "-") return write_stream(stdout, text, "standard output");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_directly(path, text);

  HAT_TRY(const std::string file, follow_links(path));
  const std::string new_file = file + ".new";
  auto written = write_directly(new_file, text);
  if (written) {
    fs::rename(new_file, file, error);
    if (!error) return {};
    written = fail_errno("cannot write '" + file + "'", error.value());
  }
  fs::remove(new_file, error);
  return written;
}

}  // namespace hat::hintgen
