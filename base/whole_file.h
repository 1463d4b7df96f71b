// SPDX-License-Identifier: Apache-2.0
// base/whole_file.h: reads and replaces files of the daemon's configuration as a whole, because
// the daemon watches these files and must never read half of one.
//
// A file is replaced by renaming a new file, which has the old file's mode and owner. If the path
// is a symbolic link, the file to which it leads is replaced, and the link stays. The new file has
// a hidden name in the same folder until it is complete; the daemon ignores hidden files.
//
// Errors   A message names the file, and the reason from the operating system.
#pragma once

#include <string>

#include "base/result.h"

namespace hat {

struct WholeFile {
  std::string path;
  std::string text;
};

// Reads a regular file.
Result<WholeFile> read_whole(const std::string& path);

// Writes `text` to the file `path`, completely or not at all. A file that did not exist gets the
// mode 0644.
Result<void> write_whole(const std::string& path, const std::string& text);

// Replaces the text of `file`. Returns an error with the code kBusy, and changes nothing, if the
// file does not have the text `file.text` any more.
Result<void> replace_whole(const WholeFile& file, const std::string& text);

}  // namespace hat
