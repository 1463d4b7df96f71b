// SPDX-License-Identifier: Apache-2.0
// hintgen/source.h: the text of one IDL file, and the line and column of each byte in it.
//
// The tree of a file uses byte offsets as positions. They are converted to lines and columns only
// for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"

namespace hat::hintgen {

inline constexpr size_t kFileBytesMax = 16u << 20;

// Bytes [begin, end) of a file.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool empty() const { return begin == end; }
  friend bool operator==(const Span&, const Span&) = default;
};

class SourceFile {
 public:
  // Keeps the first kFileBytesMax bytes of `text`. Messages and the manifest show `path`.
  SourceFile(std::string path, std::string text);

  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  std::string_view text(Span span) const;

  SourceLocation location(uint32_t offset) const;
  SourceLocation location(Span span) const { return location(span.begin); }
  // Returns a line without its line end; empty if there is no such line. Lines are numbered from 1.
  std::string_view line(int number) const;

 private:
  std::string path_;
  std::string text_;
  std::vector<uint32_t> line_begins_;
};

// Returns the word with which other files refer to the file at `path`, such as "kv" in `kv.Pair`
// for "shared/kv.idl". As in the Thrift compiler, it is the file name without the directory and
// without the last extension, whatever this extension is.
std::string_view program_name(std::string_view path);

// Returns all diagnostics in the form that compilers use: the message, the source line, and a caret
// under the column. The diagnostics are ordered by file, as in `files`, and then by source
// location.
//
//   kv.thrift:3:9: error: unknown hint 'perf_gaol' (did you mean 'perf_goal'?)
//     hint: perf_gaol=latency;
//           ^
std::string render(const Diagnostics& diagnostics, const std::vector<const SourceFile*>& files);

// Returns "3 errors, 1 warning", or "" if there are no errors and no warnings.
std::string count_mistakes(const Diagnostics& diagnostics);

}  // namespace hat::hintgen
