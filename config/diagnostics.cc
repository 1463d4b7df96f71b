// SPDX-License-Identifier: Apache-2.0
#include "config/diagnostics.h"

#include <algorithm>
#include <tuple>

namespace hat {

std::string to_string(const SourceLocation& location) {
  if (location.line == 0) return location.file;
  return location.file + ":" + std::to_string(location.line) + ":" +
         std::to_string(location.column);
}

void Diagnostics::error(SourceLocation location, std::string message) {
  all_.push_back({std::move(location), Diagnostic::Severity::kError, std::move(message)});
  ++errors_;
}

void Diagnostics::warning(SourceLocation location, std::string message) {
  all_.push_back({std::move(location), Diagnostic::Severity::kWarning, std::move(message)});
}

std::string Diagnostics::text() const {
  const auto first_of = [&](const std::string& file) {
    return std::ranges::find(all_, file, [](const Diagnostic& m) { return m.location.file; });
  };
  std::vector<Diagnostic> sorted = all_;
  std::ranges::stable_sort(sorted, {}, [&](const Diagnostic& m) {
    return std::tuple(first_of(m.location.file), m.location.line, m.location.column);
  });
  std::string text;
  for (const Diagnostic& diagnostic : sorted) {
    const bool error = diagnostic.severity == Diagnostic::Severity::kError;
    text += to_string(diagnostic.location) + (error ? ": error: " : ": warning: ") +
            diagnostic.message + "\n";
  }
  return text;
}

}  // namespace hat
