// SPDX-License-Identifier: Apache-2.0
// hintgen/source.h: one IDL file's text, where a byte's line and column can be asked for.
//
// Positions in the tree are byte offsets; only a message turns them into lines and columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/mistakes.h"

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
  // `path` is as messages and the manifest should show it. At most kFileBytesMax of text.
  SourceFile(std::string path, std::string text);

  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  std::string_view text(Span span) const;

  Place place(uint32_t offset) const;
  Place place(Span span) const { return place(span.begin); }
  // Without its line end; empty where there is no such line. Numbers start at 1.
  std::string_view line(int number) const;

 private:
  std::string path_;
  std::string text_;
  std::vector<uint32_t> line_begins_;
};

// What other files write before the '.': the file's name without its folder and without its last
// extension, whichever that is, as in the stock compiler. "kv" for "shared/kv.idl".
std::string_view program_name(std::string_view path);

// All mistakes as compilers show them, in the order of `files` and then of their places: the
// message, the source line, and a caret under the column.
//
//   kv.thrift:3:9: error: unknown hint 'perf_gaol' (did you mean 'perf_goal'?)
//     hint: perf_gaol=latency;
//           ^
std::string render(const Mistakes& mistakes, const std::vector<const SourceFile*>& files);

// "3 errors, 1 warning", or "" where there is none of either.
std::string count_mistakes(const Mistakes& mistakes);

}  // namespace hat::hintgen
