// SPDX-License-Identifier: Apache-2.0
// tests/help_text.h: finds the options that a program's help text lists. Tests pass each of them to
// the program's parser.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace hat {

// Returns the options that `help` lists. Lines that begin with options are indented by 2 to 6
// spaces: the result for "  -c, --config FILE    the file" is "-c" and "--config". The other lines
// of a description are indented by more.
inline std::vector<std::string> options_in(std::string_view help) {
  std::vector<std::string> options;
  std::istringstream lines{std::string(help)};
  for (std::string line; std::getline(lines, line);) {
    const size_t indent = line.find_first_not_of(' ');
    if (indent < 2 || indent > 6) continue;
    std::istringstream words(line.substr(indent, line.find("  ", indent) - indent));
    for (std::string word; words >> word && word.starts_with('-');) {
      if (word.ends_with(',')) word.pop_back();
      if (word != "--") options.push_back(word);
    }
  }
  return options;
}

}  // namespace hat
