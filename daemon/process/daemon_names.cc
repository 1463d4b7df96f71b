// SPDX-License-Identifier: Apache-2.0
// daemon/process/daemon_names.cc: how a daemon follows the addresses of the names in its
// configuration. The main thread looks them up, and the workers get only addresses.
#include <glog/logging.h>

#include <algorithm>

#include "daemon/discovery/expand.h"
#include "daemon/process/daemon.h"

namespace hat {

// Looks up the names in a configuration that is to be used, so that the workers get addresses.
// Waits for names that were not watched before, but for at most a second, and at most
// limits.connect_timeout. follow_names() applies answers that come later.
void Daemon::look_up(const NodeConfig& node) {
  discovery_->watch(lookups_of(node));
  discovery_->wait_for_first_answers(
      std::min<std::chrono::nanoseconds>(node.limits.connect_timeout, std::chrono::seconds(1)));
  discovery_->take_change();
}

// Looks up again the names that are due, and gives changed addresses to the workers. Nothing else
// in the configuration of the workers changes, so this is possible also in a takeover.
void Daemon::follow_names() {
  discovery_->refresh(std::chrono::steady_clock::now());
  if (!discovery_->take_change()) return;
  node_ = for_workers(applied_.node, *node_);
  for (auto& thread : threads_) thread->set_addresses(node_, applied_.routes);
  were_links_tried_ = phase_ != Phase::kStarting && were_links_tried_;
  LOG(INFO) << "discovery: the changed addresses are in use";
}

// Returns the configuration for the workers: `node` with addresses in place of names, and with the
// addresses on which `listening` listens, which can have ports that the kernel chose.
std::shared_ptr<const NodeConfig> Daemon::for_workers(const NodeConfig& node,
                                                      const NodeConfig& listening) const {
  auto expanded = std::make_shared<NodeConfig>(expand(node, *discovery_));
  for (size_t i = 0; i < expanded->endpoints.size(); ++i) {
    expanded->endpoints[i].listen = listening.endpoints.at(i).listen;
  }
  expanded->link.listen = listening.link.listen;
  expanded->admin.listen = listening.admin.listen;
  return expanded;
}

// Returns the name of a daemon of the group: of another one than this, if the first worker has a
// link to such a one that is up. Returns nothing if no group has this name.
std::optional<std::string> Daemon::member_of(const std::string& group) const {
  const auto links = threads_.front()->ask([](Worker& worker) { return worker.link_status(); });
  std::optional<std::string> member;
  for (const PeerConfig& peer : node_->peers) {
    if (peer.group != group) continue;
    if (!member) member = peer.name;
    const auto is_up = [&](const LinkStatus& link) {
      return link.peer == peer.name && link.state == engine::LinkState::kUp &&
             link.node != node_->node;
    };
    if (links && std::ranges::any_of(*links, is_up)) return peer.name;
  }
  return member;
}

std::vector<NameReport> Daemon::looked_up() const {
  std::vector<NameReport> all;
  for (const auto& [lookup, name] : discovery_->all()) {
    NameReport& report = all.emplace_back(text_of(lookup), std::vector<std::string>(), name.error,
                                          name.answers, name.failures);
    for (const Address& address : name.addresses) report.addresses.push_back(to_string(address));
  }
  return all;
}

}  // namespace hat
