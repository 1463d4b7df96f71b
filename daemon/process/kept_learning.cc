// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/kept_learning.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
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

std::shared_ptr<const LearnedChoices> KeptLearning::begin() {
  choices_.reset();
  text_.reset();
  if (!file_.empty() && read()) return std::make_shared<const LearnedChoices>(*choices_);
  choices_.reset();
  return std::make_shared<const LearnedChoices>();
}

// Reads the file into `choices_` and `text_`. Returns false if the file must not be replaced.
bool KeptLearning::read() {
  choices_.emplace();
  std::error_code error;
  if (!std::filesystem::exists(file_, error) && !error) return true;
  const Result<WholeFile> file = read_whole(file_);
  if (!file) {
    LOG(WARNING) << "learned: " << file.error().message << "; nothing that is learned is kept";
    return false;
  }
  Diagnostics diagnostics;
  KeptChoices kept = read_kept_choices(file->text, file_, diagnostics);
  if (!may_be_kept_choices(file->text)) {
    LOG(WARNING) << "learned: '" << file_
                 << "' is another kind of file; nothing that is learned is kept";
    return false;
  }
  if (diagnostics.any_errors()) {
    LOG(WARNING) << "learned: a file with errors is not used, and is replaced later:\n"
                 << diagnostics.text();
    return true;
  }
  if (kept.node != node_) {
    LOG(WARNING) << "learned: '" << file_ << "' is that of the node " << kept.node << ", not of "
                 << node_ << "; nothing that is learned is kept";
    return false;
  }
  *choices_ = std::move(kept.choices);
  text_ = file->text;
  return true;
}

namespace {

// Returns true if the node has the peer, or a group of which no address is known at present, to
// which the peer can belong.
bool may_have(const NodeConfig& node, const std::string& name) {
  return std::ranges::any_of(node.peers, [&](const PeerConfig& peer) {
    return peer.name == name || (!peer.why_unknown.empty() && name.starts_with(peer.name + "@"));
  });
}

}  // namespace

void KeptLearning::save(const LearnedChoices& now, const NodeConfig& node,
                        const RoutingTable& routes) {
  if (!writes()) return;
  for (const auto& [function, choice] : now) (*choices_)[function] = choice;
  std::erase_if(*choices_, [&](const auto& kept) {
    const auto& [function, choice] = kept;
    const ServiceRoutes* service = routes.find(function.service);
    return choice.empty() || service == nullptr ||
           service->find(function.method).method != function.method ||
           !may_have(node, function.peer);
  });
  if (!routes.learns() && !text_) return;  // no function learns, and none has
  std::string text = write_kept_choices({node_, *choices_});
  if (text == text_) return;
  const auto written = write_whole(file_, text);
  if (written) {
    text_ = std::move(text);
    logged_.clear();
  } else if (logged_ != written.error().message) {  // does not repeat the error of each attempt
    logged_ = written.error().message;
    LOG(WARNING) << "learned: " << logged_ << "; what was learned is lost when hatrpcd ends";
  }
}

}  // namespace hat
