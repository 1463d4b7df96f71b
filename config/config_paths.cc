// SPDX-License-Identifier: Apache-2.0
#include "config/config_paths.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace hat {
namespace {

std::vector<std::string> files_at(std::string_view key, const ConfigPath& named,
                                  Diagnostics& diagnostics) {
  namespace fs = std::filesystem;
  const auto& [path, location] = named;
  const std::string what = std::string(key) + ": " + path;
  std::error_code error;
  if (!fs::exists(path, error)) {
    diagnostics.error(
        location, what + ": " + (error ? error.message() : "there is no such file or directory"));
    return {};
  }
  if (!fs::is_directory(path, error)) return {path};  // an error is found when the file is read
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const auto extension = entry.path().extension();
    const bool hidden = entry.path().filename().string().starts_with(".");
    if (!hidden && (extension == ".yaml" || extension == ".yml")) files.push_back(entry.path());
  }
  if (error) diagnostics.error(location, what + " cannot be read: " + error.message());
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<std::string> config_files(std::string_view key, const std::vector<ConfigPath>& paths,
                                      Diagnostics& diagnostics) {
  std::vector<std::string> files;
  for (const ConfigPath& path : paths) {
    std::ranges::move(files_at(key, path, diagnostics), std::back_inserter(files));
  }
  return files;
}

}  // namespace hat
