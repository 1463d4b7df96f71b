// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/files.h: small files of /proc and /sys, read below a root that tests choose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"

namespace hat::doctor {

class Files {
 public:
  explicit Files(std::string root) : root_(std::move(root)) {}  // "": this host's own

  std::string path(const std::string& file) const { return root_ + file; }
  // Without blanks at its end; nothing where it cannot be read. At most 1 MiB.
  std::optional<std::string> text(const std::string& file) const;
  std::string text_or(const std::string& file, std::string otherwise) const;
  template <class T>
  std::optional<T> number(const std::string& file) const {
    const auto found = text(file);
    return found ? parse_number<T>(std::string_view(*found)) : std::nullopt;
  }
  bool exists(const std::string& file) const;
  std::vector<std::string> names(const std::string& folder) const;  // sorted; none: no folder
  std::string link_name(const std::string& link) const;  // the last part of where it leads to

 private:
  const std::string root_;
};

std::vector<std::string> words(std::string_view text);
std::vector<std::string> lines(std::string_view text);
// "0-3,8": as the kernel writes sets of processors.
std::vector<int> number_list(std::string_view text);

}  // namespace hat::doctor
