// SPDX-License-Identifier: Apache-2.0
// hintgen/load.h: an IDL file and all that it includes, each parsed once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/mistakes.h"
#include "hintgen/idl.h"

namespace hat::hintgen {

inline constexpr size_t kIncludeDepthMax = 100;
inline constexpr size_t kFilesMax = 5000;

// The files of one run. Trees point into each other: keep it as long as any of them.
struct Idl {
  std::vector<std::unique_ptr<Program>> programs;  // an included file before the ones including it
  std::vector<const SourceFile*> files;            // in the order they were met: the main one first

  // The file that was asked for; null where it could not be read.
  const Program* main = nullptr;
};

// A file's text; nothing where there is no such file; an error where it cannot be read.
using ReadFile = std::function<Result<std::optional<std::string>>(const std::string& path)>;

// From disk: a regular file of at most kFileBytesMax.
Result<std::optional<std::string>> read_file(const std::string& path);

// Parses `path` and its includes. An include is looked for beside the including file, then in
// `include_dirs` in order. One that is nowhere draws a warning, as in the stock compiler; a
// circular one is an error that names the circle.
Idl load(const std::string& path, const std::vector<std::string>& include_dirs,
         const ReadFile& read, Mistakes& mistakes);

}  // namespace hat::hintgen
