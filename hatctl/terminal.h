// SPDX-License-Identifier: Apache-2.0
// hatctl/terminal.h: how text is laid out for whoever reads standard output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hat::hatctl {

struct Terminal {
  bool interactive = false;  // a terminal, not a pipe or a file
  bool colour = false;       // interactive, and neither NO_COLOR nor TERM=dumb is set
  size_t columns = 0;        // 0: no limit
  size_t rows = 0;           // 0: no limit
};
Terminal standard_output();

enum class Colour { kPlain, kGreen, kYellow, kRed, kBold };
std::string coloured(std::string_view text, Colour colour, const Terminal& terminal);

// How many columns a terminal shows the text in: one per code point of its UTF-8.
size_t width_of(std::string_view text);

// At most `width` columns, the last one "…" if something was cut off.
std::string cut(std::string_view text, size_t width);

// The text broken between words into lines of at most `columns` (0: one line), each line but the
// first `indent` columns in. The first is thought to begin there too.
std::string wrapped(std::string_view text, size_t indent, size_t columns);

// Rows under a heading, columns two spaces apart and as wide as their widest text.
class Table {
 public:
  struct Column {
    std::string heading;
    bool right = false;  // numbers
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }

  // Where a line would be wider than the terminal, the first column gives way down to ten columns;
  // then lines are cut.
  std::string text(const Terminal& terminal) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hat::hatctl
