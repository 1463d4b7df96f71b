// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/kept_learning.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include "base/whole_file.h"

namespace hat {

std::string KeptLearning::file_of(const NodeConfig& node) {
  if (!node.learned.empty()) return node.learned;
  const char* folders = std::getenv("STATE_DIRECTORY");
  if (folders == nullptr || *folders == '\0') return "";
  const std::string all = folders;
  return std::filesystem::path(all.substr(0, all.find(':'))) / "learned.yaml";
}

std::shared_ptr<const LearnedChoices> KeptLearning::load() {
  choices_.emplace();
  std::error_code none;
  if (!file_.empty() && std::filesystem::exists(file_, none)) {
    Diagnostics diagnostics;
    const Result<WholeFile> file = read_whole(file_);
    if (file) *choices_ = read_learned_choices(file->text, file_, diagnostics);
    const std::string error = file ? diagnostics.text() : file.error().message + "\n";
    if (!file || diagnostics.any_errors()) {
      LOG(WARNING)
          << "learned: the file of an earlier hatrpcd is not used, and is replaced later:\n"
          << error;
      choices_->clear();
    } else {
      text_ = file->text;
    }
  }
  return std::make_shared<const LearnedChoices>(*choices_);
}

void KeptLearning::save(const LearnedChoices& now, const NodeConfig& node,
                        const RoutingTable& routes) {
  if (file_.empty() || !choices_) return;
  for (const auto& [function, choice] : now) (*choices_)[function] = choice;
  std::set<std::pair<std::string, std::string>> learns;
  for (const Route* route : routes.learned()) learns.emplace(route->service, route->method);
  std::erase_if(*choices_, [&](const auto& kept) {
    const auto& [function, choice] = kept;
    return choice.empty() || !learns.contains({function.service, function.method}) ||
           std::ranges::find(node.peers, function.peer, &PeerConfig::name) == node.peers.end();
  });
  if (learns.empty() && !text_) return;  // no function learns, and none has
  std::string text = write_learned_choices(*choices_);
  if (text == text_) return;
  const auto written = write_whole(file_, text);
  if (!written) {
    return log_once("learned: " + written.error().message +
                    "; what was learned is lost when hatrpcd ends");
  }
  text_ = std::move(text);
  logged_.clear();
}

// Does not repeat the error of each attempt.
void KeptLearning::log_once(const std::string& error) {
  if (std::exchange(logged_, error) != error) LOG(WARNING) << error;
}

}  // namespace hat
