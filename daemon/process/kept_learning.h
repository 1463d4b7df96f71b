// SPDX-License-Identifier: Apache-2.0
// daemon/process/kept_learning.h: keeps the choices that functions with the hint `plan: learned`
// have learned in a file (config/learned_choices.h), so that a restart and a takeover do not lose
// them.
//
// A file that cannot be read or written is only logged: calls do not need it.
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
  explicit KeptLearning(std::string file) : file_(std::move(file)) {}

  // Reads the choices of the process before. Returns none if there is no file, or if it has errors.
  std::shared_ptr<const LearnedChoices> load();
  // Replaces the choices of the functions in `now`; an empty text stands for the plan of the hints.
  // Drops the choices of functions that do not learn by `routes`, and of peers that `node`
  // does not have. Writes the file if this changes its text. Does nothing before load().
  void save(const LearnedChoices& now, const NodeConfig& node, const RoutingTable& routes);

 private:
  void log_once(const std::string& error);

  const std::string file_;
  std::optional<LearnedChoices> choices_;  // nullopt before load()
  std::optional<std::string> text_;        // of the file; nullopt: it does not exist, or has errors
  std::string logged_;                     // the last error
};

}  // namespace hat
