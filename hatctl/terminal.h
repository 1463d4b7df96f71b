// SPDX-License-Identifier: Apache-2.0
// hatctl/terminal.h: lays out text for the terminal, pipe or file that is standard output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hat::hatctl {

struct Terminal {
  bool interactive = false;  // a terminal, not a pipe or a file
  bool colour = false;       // interactive, NO_COLOR is not set, TERM is set and not "dumb"
  size_t columns = 0;        // 0: no limit
  size_t rows = 0;           // 0: no limit
};
Terminal standard_output();

enum class Colour { kPlain, kGreen, kYellow, kRed, kBold };
std::string coloured(std::string_view text, Colour colour, const Terminal& terminal);

// Returns the number of columns that the text occupies on a terminal: one for each code point of
// its UTF-8.
size_t width_of(std::string_view text);

// Returns at most the first `width` columns of the text. If something was cut off, the last column
// is "…".
std::string cut(std::string_view text, size_t width);

// Returns the text, broken between words into lines of at most `columns` columns (0: one line). A
// word that is longer than a line stays whole. Each line except the first is indented by `indent`
// columns; the caller has already indented the first line.
std::string wrapped(std::string_view text, size_t indent, size_t columns);

// A table: rows under a heading. Each column is as wide as its widest text, and two spaces separate
// the columns.
class Table {
 public:
  struct Column {
    std::string heading;
    bool right = false;  // aligned to the right, for numbers
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }

  // Returns the table as text. If the lines are wider than the terminal, the first column is
  // narrowed, but not below a width of 10. If that is not enough, the lines are cut off.
  std::string text(const Terminal& terminal) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hat::hatctl
