// SPDX-License-Identifier: Apache-2.0
// hintgen/report.h: reports errors and warnings of one IDL file. The caller gives the byte
// positions in the file; a Report converts them to lines and columns.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

#include "config/diagnostics.h"
#include "hintgen/idl.h"

namespace hat::hintgen {

// A Report belongs to one file and to one step of processing the file. It shows at most kShownMax
// errors and kShownMax warnings, so that time and output are bounded even for a file that has only
// errors.
class Report {
 public:
  static constexpr size_t kShownMax = 50;

  Report(const Program& program, Diagnostics& diagnostics)
      : source_(*program.source), diagnostics_(diagnostics) {}
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  void error(Span at, std::string message) {
    error(at, [&] { return std::move(message); });
  }
  // Reports an error with the text that `make_message` returns. Calls `make_message` only if the
  // error is shown; this saves time if the text needs a search for similar names.
  void error(Span at, const std::invocable auto& make_message) {
    add(Diagnostic::Severity::kError, at, make_message);
  }
  void warning(Span at, std::string message) {
    warning(at, [&] { return std::move(message); });
  }
  void warning(Span at, const std::invocable auto& make_message) {
    add(Diagnostic::Severity::kWarning, at, make_message);
  }

  std::string line_of(Span at) const { return "line " + std::to_string(source_.location(at).line); }

 private:
  void add(Diagnostic::Severity severity, Span at, const auto& make_message) {
    const bool is_error = severity == Diagnostic::Severity::kError;
    size_t& count = is_error ? errors_ : warnings_;
    if (count > kShownMax) return;
    std::string message = ++count <= kShownMax
                              ? make_message()
                              : std::string("too many ") + (is_error ? "errors" : "warnings") +
                                    "; further ones of this file are not shown";
    if (is_error) {
      diagnostics_.error(source_.location(at), std::move(message));
    } else {
      diagnostics_.warning(source_.location(at), std::move(message));
    }
  }

  const SourceFile& source_;
  Diagnostics& diagnostics_;
  size_t errors_ = 0;
  size_t warnings_ = 0;
};

}  // namespace hat::hintgen
