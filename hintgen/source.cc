// SPDX-License-Identifier: Apache-2.0
// hintgen/source.cc: finds lines in a text and prints carets under them.
#include "hintgen/source.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/printable.h"

namespace hat::hintgen {
namespace {

constexpr size_t kShownLineBytesMax = 400;

// Returns white space as wide as `before`: a tab stays a tab, and a multi-byte UTF-8 character
// counts as one column.
std::string blank_like(std::string_view before) {
  std::string blank;
  for (const char c : before) {
    const bool continues_character = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (!continues_character) blank += c == '\t' ? '\t' : ' ';
  }
  return blank;
}

std::string source_excerpt(const SourceFile& file, const SourceLocation& location) {
  const std::string_view line = file.line(location.line);
  const auto column = static_cast<size_t>(location.column);
  if (column > kShownLineBytesMax || column > line.size() + 1) return "";
  // printable() replaces control characters, because bytes from a file must not control the
  // terminal on which hintgen prints them.
  return printable(line.substr(0, kShownLineBytesMax)) + "\n" +
         blank_like(printable(line.substr(0, column - 1))) + "^\n";
}

std::string counted(size_t count, const char* word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

}  // namespace

SourceFile::SourceFile(std::string path, std::string text)
    : path_(std::move(path)), text_(std::move(text)), line_begins_{0} {
  text_.resize(std::min(text_.size(), kFileBytesMax));
  for (uint32_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_begins_.push_back(i + 1);
  }
}

std::string_view SourceFile::text(Span span) const {
  return std::string_view(text_).substr(span.begin, span.end - span.begin);
}

SourceLocation SourceFile::location(uint32_t offset) const {
  const auto after = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset);
  const auto line = after - line_begins_.begin();  // at least 1: the first line begins at 0
  const uint32_t column = offset - line_begins_[static_cast<size_t>(line - 1)] + 1;
  return SourceLocation{path_, static_cast<int>(line), static_cast<int>(column)};
}

std::string_view SourceFile::line(int number) const {
  const auto index = static_cast<size_t>(number) - 1;
  if (number < 1 || index >= line_begins_.size()) return {};
  const size_t begin = line_begins_[index];
  size_t end = text_.find('\n', begin);
  if (end == std::string::npos) end = text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

std::string_view program_name(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0: the whole path
  return path.substr(0, path.rfind('.'));
}

std::string render(const Diagnostics& diagnostics, const std::vector<const SourceFile*>& files) {
  std::map<std::string, std::pair<size_t, const SourceFile*>> by_path;
  for (size_t i = 0; i < files.size(); ++i) by_path.try_emplace(files[i]->path(), i, files[i]);

  std::vector<const Diagnostic*> ordered;
  for (const Diagnostic& diagnostic : diagnostics.all()) ordered.push_back(&diagnostic);
  const auto key = [&](const Diagnostic* diagnostic) {
    const auto file = by_path.find(diagnostic->location.file);
    const size_t rank = file == by_path.end() ? files.size() : file->second.first;
    return std::tuple(rank, diagnostic->location.line, diagnostic->location.column);
  };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const Diagnostic* a, const Diagnostic* b) { return key(a) < key(b); });

  std::string text;
  for (const Diagnostic* diagnostic : ordered) {
    const bool is_error = diagnostic->severity == Diagnostic::Severity::kError;
    text += to_string(diagnostic->location) + (is_error ? ": error: " : ": warning: ");
    text += diagnostic->message + "\n";
    const auto file = by_path.find(diagnostic->location.file);
    if (file != by_path.end() && diagnostic->location.line > 0) {
      text += source_excerpt(*file->second.second, diagnostic->location);
    }
  }
  return text;
}

std::string count_mistakes(const Diagnostics& diagnostics) {
  size_t errors = 0;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    errors += diagnostic.severity == Diagnostic::Severity::kError;
  }
  const size_t warnings = diagnostics.all().size() - errors;
  std::string text;
  if (errors != 0) text = counted(errors, "error");
  if (warnings != 0) text += (text.empty() ? "" : ", ") + counted(warnings, "warning");
  return text;
}

}  // namespace hat::hintgen
