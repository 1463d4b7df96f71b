// SPDX-License-Identifier: Apache-2.0
// hintgen/compile_text.h: runs all steps of hintgen (load, resolve names, read hints) on IDL texts
// in memory; for tests only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hintgen/hint_check.h"
#include "hintgen/load.h"
#include "hintgen/resolve.h"

namespace hat::hintgen {

struct Compiled {
  Diagnostics diagnostics;
  Idl idl;

  std::string messages() const { return render(diagnostics, idl.files); }
};

inline Compiled compile_files(const std::map<std::string, std::string>& files,
                              const std::string& main_file,
                              const std::vector<std::string>& include_dirs = {}) {
  const ReadFile read = [&](const std::string& path) -> Result<std::optional<std::string>> {
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return found->second;
  };
  Compiled compiled;
  compiled.idl = load(main_file, include_dirs, read, compiled.diagnostics);
  resolve(compiled.idl, compiled.diagnostics);
  read_hints(compiled.idl, compiled.diagnostics);
  return compiled;
}

inline Compiled compile_text(const std::string& text) {
  return compile_files({{"t.thrift", text}}, "t.thrift");
}

}  // namespace hat::hintgen
