// SPDX-License-Identifier: Apache-2.0
// hintgen/load.h: loads an IDL file and all files that it includes, and parses each of them once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/diagnostics.h"
#include "hintgen/idl.h"

namespace hat::hintgen {

inline constexpr size_t kIncludeDepthMax = 100;
inline constexpr size_t kFilesMax = 5000;

// The files of one run. The trees point into each other, so keep this object as long as any of them
// is used.
struct Idl {
  std::vector<std::unique_ptr<Program>> programs;  // included files precede their includers
  std::vector<const SourceFile*> files;            // in the order of discovery: the main file first

  // The requested file; nullptr if it could not be read.
  const Program* main = nullptr;
};

// Returns a file's text, nullopt if the file does not exist, or an error if it cannot be read.
using ReadFile = std::function<Result<std::optional<std::string>>(const std::string& path)>;

// Reads a regular file of at most kFileBytesMax from disk.
Result<std::optional<std::string>> read_file(const std::string& path);

// Parses `path` and its includes. Searches an include in the directory of the including file, then
// in `include_dirs` in order. A missing include is a warning, as in the stock compiler; a circular
// include is an error that lists the circle.
Idl load(const std::string& path, const std::vector<std::string>& include_dirs,
         const ReadFile& read, Diagnostics& diagnostics);

}  // namespace hat::hintgen
