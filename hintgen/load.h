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

// All files of one run of hintgen. The trees of the files point into each other, so this object
// must exist as long as one of its trees is used.
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

// Parses the file `path` and all files that it includes. Looks for an included file in the
// directory of the including file, and then in each of `include_dirs`. If an included file does not
// exist, adds a warning, as the Thrift compiler does. If files include each other in a circle, adds
// an error that lists these files.
Idl load(const std::string& path, const std::vector<std::string>& include_dirs,
         const ReadFile& read, Diagnostics& diagnostics);

}  // namespace hat::hintgen
