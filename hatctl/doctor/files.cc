// SPDX-License-Identifier: Apache-2.0
#include "hatctl/doctor/files.h"
#include "base/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace hat::doctor {
namespace {

constexpr size_t kTextBytesMax = 1 << 20;

std::vector<std::string> pieces(std::string_view text, std::string_view separators) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(separators), text.size());
    if (end != 0) all.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

}  // namespace

// Uses system calls, because std::ifstream throws if a file of /sys can be opened but not read.
std::optional<std::string> Files::text(const std::string& file) const {
  const Descriptor fd(open(path(file).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return std::nullopt;
  std::string all;
  std::array<char, 4096> piece;
  ssize_t count = 0;
  while (all.size() < kTextBytesMax && (count = read(fd.get(), piece.data(), piece.size())) > 0) {
    all.append(piece.data(), static_cast<size_t>(count));
  }
  if (count < 0) return std::nullopt;
  all.erase(all.find_last_not_of(" \n\t") + 1);
  return all;
}

std::string Files::text_or(const std::string& file, std::string otherwise) const {
  return text(file).value_or(std::move(otherwise));
}

bool Files::exists(const std::string& file) const { return access(path(file).c_str(), F_OK) == 0; }

std::vector<std::string> Files::names(const std::string& folder) const {
  std::vector<std::string> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path(folder), error)) {
    all.push_back(entry.path().filename());
  }
  std::ranges::sort(all);
  return all;
}

std::string Files::link_name(const std::string& link) const {
  std::error_code error;
  return std::filesystem::read_symlink(path(link), error).filename();
}

std::vector<std::string> words(std::string_view text) { return pieces(text, " \t"); }

std::vector<std::string> lines(std::string_view text) { return pieces(text, "\n"); }

}  // namespace hat::doctor
