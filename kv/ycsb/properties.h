// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/properties.h: reads property files, the format of YCSB's workloads.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hat::ycsb {

// Keys with their values and the source of each value. The format is that of java.util.Properties:
// `key=value`, `key: value` or `key value`; comments after # or !; a backslash at the end of a line
// continues it on the next one. Blanks at the end of a value are part of it. Unlike Java, this
// class rejects \uXXXX.
class Properties {
 public:
  struct Value {
    std::string text;
    std::string where;  // "workloads/a:12", or "-p" for the command line
  };

  // Later values replace earlier ones. Errors name the file and, if there is one, the line.
  Result<void> read_file(const std::string& path);
  Result<void> read_text(std::string_view text, const std::string& name);
  // Sets one value from `KEY=VALUE`, the argument of -p.
  Result<void> set(std::string_view assignment);

  // Returns nullptr if the key was not set.
  const Value* find(const std::string& key) const;
  const std::map<std::string, Value>& all() const { return values_; }

 private:
  std::map<std::string, Value> values_;
};

}  // namespace hat::ycsb
