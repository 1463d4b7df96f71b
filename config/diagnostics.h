// SPDX-License-Identifier: Apache-2.0
// config/diagnostics.h: collects diagnostics: the errors and warnings found in files that people
// write, each with its file, line and column. For example:
//
//   kv.yaml:14:9: error: unknown hint 'perf_gaol' (did you mean 'perf_goal'?); expected one of: …
//
// The code that reads a file adds a diagnostic and continues, so that one run reports every error
// of every file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hat {

struct SourceLocation {
  std::string file;
  int line = 0;    // from 1; 0 means the file as a whole
  int column = 0;  // from 1, in bytes

  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

// Returns "file:line:column", or "file" if the line is 0.
std::string to_string(const SourceLocation& location);

struct Diagnostic {
  enum class Severity { kError, kWarning };
  SourceLocation location;
  Severity severity = Severity::kError;
  std::string message;
};

class Diagnostics {
 public:
  void error(SourceLocation location, std::string message);
  void warning(SourceLocation location, std::string message);

  bool any_errors() const { return errors_ != 0; }
  const std::vector<Diagnostic>& all() const { return all_; }
  // Returns one line for each diagnostic: "LOCATION: error: MESSAGE" or "LOCATION: warning:
  // MESSAGE". The lines are grouped by file, in the order in which the files got their first
  // diagnostic. The diagnostics of one file are ordered by line and column.
  std::string text() const;

 private:
  std::vector<Diagnostic> all_;
  size_t errors_ = 0;
};

}  // namespace hat
