// SPDX-License-Identifier: Apache-2.0
// config/mistakes.h: everything that is wrong with what a person wrote, with its places.
//
//   kv.yaml:14:9: error: unknown hint 'perf_gaol' (did you mean 'perf_goal'?); expected one of: …
//
// Readers add and go on, so that one run shows every mistake of every file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hat {

struct Place {
  std::string file;
  int line = 0;    // from 1; 0 where a file as a whole is meant
  int column = 0;  // from 1, in bytes

  friend bool operator==(const Place&, const Place&) = default;
};

std::string to_string(const Place& place);  // "file:line:column", or "file" where line is 0

struct Mistake {
  enum class Severity { kError, kWarning };
  Place place;
  Severity severity = Severity::kError;
  std::string message;
};

class Mistakes {
 public:
  void error(Place place, std::string message);
  void warning(Place place, std::string message);

  bool any_errors() const { return errors_ != 0; }
  const std::vector<Mistake>& all() const { return all_; }
  // One line each, PLACE: error|warning: MESSAGE; file by file as they were met, in each by place.
  std::string text() const;

 private:
  std::vector<Mistake> all_;
  size_t errors_ = 0;
};

// The word of `known` that is near `found`; empty: none is.
std::string_view nearest_word(std::string_view found, const std::vector<std::string_view>& known);
// " (did you mean 'x'?)" where a word of `known` is near `found`, else "".
std::string did_you_mean(std::string_view found, const std::vector<std::string_view>& known);

}  // namespace hat
