// SPDX-License-Identifier: Apache-2.0
// hatctl/terminal.h: formats text (colours, tables, line breaks) for standard output, which is a
// terminal, a pipe or a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hat::hatctl {

struct Terminal {
  bool interactive = false;  // true for a terminal, false for a pipe or a file
  bool colour = false;       // colours may be used, according to NO_COLOR, TERM and `interactive`
  size_t columns = 0;        // 0: no limit
  size_t rows = 0;           // 0: no limit
};
// Returns the properties of this process's standard output.
Terminal standard_output();

// Prints `text` to standard error as a message of hatctl, and returns `status`.
int complain(const std::string& text, int status);

enum class Colour { kPlain, kGreen, kYellow, kRed, kBold };
std::string coloured(std::string_view text, Colour colour, const Terminal& terminal);

// Returns the number of columns that the text occupies on a terminal: one column for each Unicode
// code point.
size_t width_of(std::string_view text);

// Returns the text cut to `width` columns. If a part of the text was cut off, the last column of
// the result is "…".
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
    bool right = false;  // true: aligned to the right, as numbers are
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
