// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/properties.h: reads Java property files, which is the format of YCSB's workload files.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hat::ycsb {

// Keys with their values, and the source of each value. The format is that of java.util.Properties:
// `key=value`, `key: value` or `key value`; comments begin with # or !; a backslash at the end of a
// line continues the line. Spaces at the end of a line belong to the value. Unlike Java, this class
// rejects \uXXXX.
class Properties {
 public:
  struct Value {
    std::string text;
    std::string where;  // "workloads/a:12", or "-p" for the command line
  };

  // Reads a file. Its values replace earlier values of the same keys. An error names the file and,
  // if possible, the line.
  Result<void> read_file(const std::string& path);
  Result<void> read_text(std::string_view text, const std::string& name);
  // Sets one value from `assignment`, an argument KEY=VALUE of the option -p.
  Result<void> set(std::string_view assignment);

  // Returns the value of a key, or nullptr if the key is not set.
  const Value* find(const std::string& key) const;
  const std::map<std::string, Value>& all() const { return values_; }

 private:
  std::map<std::string, Value> values_;
};

}  // namespace hat::ycsb
