// hintgen/report.h: says what is wrong with one IDL file, by the bytes in question.
#pragma once

#include <string>
#include <utility>

#include "config/mistakes.h"
#include "hintgen/idl.h"

namespace hat::hintgen {

class Report {
 public:
  Report(const Program& program, Mistakes& mistakes)
      : source_(*program.source), mistakes_(mistakes) {}

  void error(Span at, std::string message) const {
    mistakes_.error(source_.place(at), std::move(message));
  }
  void warning(Span at, std::string message) const {
    mistakes_.warning(source_.place(at), std::move(message));
  }
  std::string line_of(Span at) const { return "line " + std::to_string(source_.place(at).line); }

 private:
  const SourceFile& source_;
  Mistakes& mistakes_;
};

}  // namespace hat::hintgen
