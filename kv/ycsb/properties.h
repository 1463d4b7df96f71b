// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/properties.h: reads property files, which YCSB's workloads are written in.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hat::ycsb {

// Keys, their values, and where each was said. As java.util.Properties reads a file: `key=value`,
// `key: value` or `key value`, comments after # or !, lines that go on after a backslash. Blanks
// at the end of a value are part of it. \uXXXX is refused.
class Properties {
 public:
  struct Value {
    std::string text;
    std::string where;  // "workloads/a:12", or "-p" for the command line
  };

  // What is read or set later holds. Errors name the file, and the line where there is one.
  Result<void> read_file(const std::string& path);
  Result<void> read_text(std::string_view text, const std::string& name);
  // `KEY=VALUE`, as after -p.
  Result<void> set(std::string_view assignment);

  // nullptr where nobody said anything.
  const Value* find(const std::string& key) const;
  const std::map<std::string, Value>& all() const { return values_; }

 private:
  std::map<std::string, Value> values_;
};

}  // namespace hat::ycsb
