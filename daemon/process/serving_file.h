// SPDX-License-Identifier: Apache-2.0
// daemon/process/serving_file.h: a file that is there while this process, and no other, serves the
// node.
#pragma once

#include <string>

#include "base/descriptor.h"

namespace hat {

// Where two processes share the node's addresses for a while (docs/upgrade.md), whoever asks an
// address may be answered by either; whoever looks at a process's own file learns of that process.
// Main thread.
class ServingFile {
 public:
  // Removes what a process that is gone left there. Empty: no file, and nothing happens.
  explicit ServingFile(std::string path);
  ~ServingFile() { hide(); }

  ServingFile(const ServingFile&) = delete;
  ServingFile& operator=(const ServingFile&) = delete;

  void show();  // a file that cannot be made is logged: calls matter more
  void hide();

 private:
  const std::string path_;
  Descriptor file_;  // locked while it is this process's: nobody else's is removed
};

}  // namespace hat
