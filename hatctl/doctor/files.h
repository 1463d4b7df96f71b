// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/files.h: reads small files of /proc and /sys. Tests replace the root folder of the
// paths.
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
  explicit Files(std::string root) : root_(std::move(root)) {}  // "": the root of this host

  std::string path(const std::string& file) const { return root_ + file; }
  // Returns the text of the file without white space at its end, or nothing if the file cannot be
  // read. Reads about 1 MiB at most.
  std::optional<std::string> text(const std::string& file) const;
  std::string text_or(const std::string& file, std::string otherwise) const;
  template <class T>
  std::optional<T> number(const std::string& file) const {
    const auto found = text(file);
    return found ? parse_number<T>(std::string_view(*found)) : std::nullopt;
  }
  bool exists(const std::string& file) const;
  // Returns the sorted names of the entries of the folder, or no names if the folder does not
  // exist.
  std::vector<std::string> names(const std::string& folder) const;
  // Returns the last component of the target of a symbolic link, or "" if the link does not exist.
  std::string link_name(const std::string& link) const;

 private:
  const std::string root_;
};

std::vector<std::string> words(std::string_view text);
std::vector<std::string> lines(std::string_view text);

}  // namespace hat::doctor
