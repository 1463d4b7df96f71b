// SPDX-License-Identifier: Apache-2.0
// daemon/process/kept_learning.h: keeps the choices that functions with the hint `plan: learned`
// have learned in a file (config/learned_choices.h), so that a restart and a takeover do not lose
// them.
//
// Only one process writes the file at a time: from begin() to release(). A file that cannot be read
// or written is only logged, because calls do not need it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "config/learned_choices.h"
#include "config/node.h"
#include "daemon/routing/routing_table.h"

namespace hat {

// Thread   Only the main thread uses this class.
class KeptLearning {
 public:
  // Returns the file of this node: the value of the key `learned`, or else learned.yaml in the
  // first folder that the environment variable STATE_DIRECTORY names (systemd.exec(5)). Returns ""
  // if neither is set.
  static std::string file_of(const NodeConfig& node);

  // Keeps nothing if `file` is empty.
  KeptLearning(std::string file, std::string node)
      : file_(std::move(file)), node_(std::move(node)) {}

  // Reads the choices of the process before; returns none if there is no file. From now on, save()
  // writes the file. But if the file cannot be read, or is not one that this node has written, it
  // returns none, and the file stays as it is.
  std::shared_ptr<const LearnedChoices> begin();
  // Leaves the file to another process: save() does nothing until begin() is called again.
  void release() { choices_.reset(); }
  // Returns true if save() writes the file.
  bool writes() const { return choices_.has_value(); }

  // Replaces the choices of the functions in `now`; an empty text stands for the plan of the hints.
  // Drops the choices of functions that `routes` does not list, and of peers that `node` does not
  // have. Writes the file if this changes its text. Can wait for the disk.
  void save(const LearnedChoices& now, const NodeConfig& node, const RoutingTable& routes);

 private:
  bool read();

  const std::string file_;
  const std::string node_;
  std::optional<LearnedChoices> choices_;  // nullopt: save() does nothing
  std::optional<std::string> text_;        // of the file; nullopt: it must be written
  std::string logged_;                     // the last error of save()
};

}  // namespace hat
