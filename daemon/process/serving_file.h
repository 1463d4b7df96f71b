// SPDX-License-Identifier: Apache-2.0
// daemon/process/serving_file.h: a file that exists while this process, and no other, serves the
// node.
#pragma once

#include <string>

#include "base/descriptor.h"

namespace hat {

// During a takeover two processes share the node's addresses (docs/upgrade.md), and either may
// answer a health check. The file of one process shows whether that process serves.
//
// Thread   The main thread.
class ServingFile {
 public:
  // Removes the file that a dead process left at `path`. If `path` is empty, all calls do nothing.
  explicit ServingFile(std::string path);
  ~ServingFile() { hide(); }

  ServingFile(const ServingFile&) = delete;
  ServingFile& operator=(const ServingFile&) = delete;

  void show();  // only logs an error, because calls matter more than the file
  void hide();

 private:
  const std::string path_;
  Descriptor file_;  // locked while this process serves: no other removes it
};

}  // namespace hat
