// SPDX-License-Identifier: Apache-2.0
#include "hatctl/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <numeric>

namespace hat::hatctl {
namespace {

constexpr size_t kFirstColumnMin = 10;
constexpr size_t kGap = 2;

bool set_in_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool begins_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

std::string padded(const std::string& text, size_t width, bool right) {
  const size_t own = width_of(text);
  const std::string space(width > own ? width - own : 0, ' ');
  return right ? space + text : text + space;
}

void end_line(std::string& text, std::string line, const Terminal& terminal) {
  line.erase(line.find_last_not_of(' ') + 1);
  text += terminal.columns == 0 ? line : cut(line, terminal.columns);
  text += '\n';
}

}  // namespace

Terminal standard_output() {
  Terminal terminal;
  terminal.interactive = isatty(STDOUT_FILENO) == 1;
  if (!terminal.interactive) return terminal;
  const char* kind = std::getenv("TERM");
  const bool dumb = kind == nullptr || std::string_view(kind) == "dumb";
  terminal.colour = !set_in_environment("NO_COLOR") && !dumb;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    terminal.columns = size.ws_col;
    terminal.rows = size.ws_row;
  }
  return terminal;
}

int complain(const std::string& text, int status) {
  std::cerr << "hatctl: " << text << (text.ends_with('\n') ? "" : "\n");
  return status;
}

std::string coloured(std::string_view text, Colour colour, const Terminal& terminal) {
  if (!terminal.colour || colour == Colour::kPlain) return std::string(text);
  constexpr std::array kCodes = {"0", "32", "33", "31", "1"};  // indexed by Colour
  return "\x1b[" + std::string(kCodes[static_cast<size_t>(colour)]) + "m" + std::string(text) +
         "\x1b[0m";
}

size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, begins_code_point));
}

std::string cut(std::string_view text, size_t width) {
  if (width_of(text) <= width) return std::string(text);
  if (width == 0) return "";
  size_t seen = 0;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (begins_code_point(text[end]) && seen++ == width - 1) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string wrapped(std::string_view text, size_t indent, size_t columns) {
  if (columns == 0) return std::string(text);
  std::string result;
  size_t column = indent;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (column > indent) {
      const bool fits = column + 1 + width_of(word) <= columns;
      result += fits ? " " : "\n" + std::string(indent, ' ');
      column = fits ? column + 1 : indent;
    }
    result += word;
    column += width_of(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string Table::text(const Terminal& terminal) const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = width_of(columns_[i].heading);
    for (const auto& row : rows_) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  const size_t line_width =
      std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  if (terminal.columns != 0 && line_width > terminal.columns) {
    const size_t excess = line_width - terminal.columns;
    const size_t least = std::min(widths[0], kFirstColumnMin);
    widths[0] = widths[0] > least + excess ? widths[0] - excess : least;
  }
  std::string text;
  const auto add_line = [&](const auto& text_of) {
    std::string line;
    for (size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) line += std::string(kGap, ' ');
      line +=
          padded(i == 0 ? cut(text_of(i), widths[i]) : text_of(i), widths[i], columns_[i].right);
    }
    end_line(text, std::move(line), terminal);
  };
  add_line([&](size_t i) { return columns_[i].heading; });
  for (const auto& row : rows_) add_line([&](size_t i) { return row[i]; });
  return text;
}

}  // namespace hat::hatctl
