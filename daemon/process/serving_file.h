// SPDX-License-Identifier: Apache-2.0
// daemon/process/serving_file.h: a file that exists while this process, and not another process,
// serves the node.
#pragma once

#include <string>

#include "base/descriptor.h"

namespace hat {

// During a takeover two processes share the node's addresses (docs/upgrade.md), and either can
// answer a health check. Each process has a file of its own, which shows whether that process
// serves.
//
// Thread   Only the main thread uses this class.
class ServingFile {
 public:
  // Removes the file at `path` if a dead process left it. If `path` is empty, show() and hide() do
  // nothing.
  explicit ServingFile(std::string path);
  ~ServingFile() { hide(); }

  ServingFile(const ServingFile&) = delete;
  ServingFile& operator=(const ServingFile&) = delete;

  void show();  // makes the file; only logs an error, because serving calls matters more
  void hide();

 private:
  const std::string path_;
  Descriptor file_;  // locked while this process serves, so that no other process removes it
};

}  // namespace hat
