// SPDX-License-Identifier: Apache-2.0
#include "kv/ycsb/properties.h"

#include <fstream>
#include <iterator>

namespace hat::ycsb {
namespace {

constexpr std::string_view kBlanks = " \t\f";

std::string_view without_leading_blanks(std::string_view line) {
  const size_t begin = line.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
}

// Returns true if the line continues on the next line: it ends in an odd number of backslashes.
bool goes_on(std::string_view line) {
  const size_t last = line.find_last_not_of('\\');
  const size_t backslashes = line.size() - (last == std::string_view::npos ? 0 : last + 1);
  return backslashes % 2 == 1;
}

// Removes the first line from `text` and returns it without its line break.
std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Result<std::string> unescaped(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    switch (const char next = text[++i]) {
      case 't':
        result += '\t';
        break;
      case 'n':
        result += '\n';
        break;
      case 'r':
        result += '\r';
        break;
      case 'f':
        result += '\f';
        break;
      case 'u':
        return fail(ErrorCode::kInvalid,
                    "\\u escapes are not supported; write the character itself");
      default:
        result += next;
    }
  }
  return result;
}

// Returns the offset of the end of the key: the first =, : or blank (space, tab or form feed)
// without a backslash before it, or the end of the line if there is none.
size_t end_of_key(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '=' || line[i] == ':' || kBlanks.contains(line[i])) {
      return i;
    }
  }
  return line.size();
}

}  // namespace

Result<void> Properties::read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::kSystem, path + ": cannot read this workload file");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return fail(ErrorCode::kSystem, path + ": cannot read this workload file");
  return read_text(text, path);
}

Result<void> Properties::read_text(std::string_view text, const std::string& name) {
  for (size_t number = 1; !text.empty(); ++number) {
    std::string line(without_leading_blanks(take_line(text)));
    if (line.empty() || line[0] == '#' || line[0] == '!') continue;
    const std::string where = name + ":" + std::to_string(number);
    for (; goes_on(line) && !text.empty(); ++number) {
      line.pop_back();
      line += without_leading_blanks(take_line(text));
    }
    const size_t end = end_of_key(line);
    std::string_view rest = without_leading_blanks(std::string_view(line).substr(end));
    if (rest.starts_with('=') || rest.starts_with(':')) {
      rest = without_leading_blanks(rest.substr(1));
    }
    auto key = unescaped(std::string_view(line).substr(0, end));
    auto value = unescaped(rest);
    if (!key) return std::unexpected(in(where, std::move(key.error())));
    if (!value) return std::unexpected(in(where, std::move(value.error())));
    if (key->empty())
      return fail(ErrorCode::kInvalid, where + ": no key before '" + line.substr(end) + "'");
    values_[*key] = {std::move(*value), where};
  }
  return {};
}

Result<void> Properties::set(std::string_view assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return fail(ErrorCode::kInvalid,
                "-p: found '" + std::string(assignment) + "', expected KEY=VALUE");
  }
  values_[std::string(assignment.substr(0, equals))] = {std::string(assignment.substr(equals + 1)),
                                                        "-p"};
  return {};
}

const Properties::Value* Properties::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

}  // namespace hat::ycsb
