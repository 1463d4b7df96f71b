// SPDX-License-Identifier: Apache-2.0
// tests/sim/faults.cc: chooses the faults of a simulation run and their times, and injects them.
#include "tests/sim/world.h"

namespace hat::sim {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstFault = milliseconds(5);
constexpr Duration kLastFault = milliseconds(400);

Address link_of(const SimDaemon& daemon) { return *daemon.node().link.listen; }

}  // namespace

void World::plant_canary() {
  const auto server_errs = [this](ServerMistake mistake) {
    for (const auto& server : servers_) server->make(mistake);
  };
  switch (canary_) {
    case Canary::kNone:
    case Canary::kStarvedClient:  // build_crowd() plants it
      return;
    case Canary::kHandledTwice:
      return server_errs(ServerMistake::kHandlesTwice);
    case Canary::kSwappedReplies:
      return server_errs(ServerMistake::kSwapsReplies);
    case Canary::kChangedReply:
      return server_errs(ServerMistake::kChangesReply);
    case Canary::kForgottenReply:
      return server_errs(ServerMistake::kForgetsReply);
    case Canary::kForeignReply:
      return server_errs(ServerMistake::kAnswersAnother);
    case Canary::kLostOneway:
      return server_errs(ServerMistake::kOverlooksOneway);
    case Canary::kLostSegment:
      return network_.after(milliseconds(60), [this] {
        for (const auto& server : servers_) network_.lose_one_segment(server->address());
      });
    case Canary::kKeptConnection:
      clients_.front()->keep_connection();
  }
}

void World::plan_faults() {
  if (only_lanes_fail_ || (nothing_fails() && scenario_ != Scenario::kReloads)) return;
  const size_t count = random_.between(1, 8);
  for (size_t i = 0; i < count; ++i) {
    plan_fault(network_.now() + random_.between(kFirstFault, kLastFault));
  }
}

void World::plan_fault(TimePoint when) {
  network_.at(when, 0, [this] {
    if (calm_) return;
    switch (scenario_) {
      case Scenario::kCalm:
      case Scenario::kHostile:
      case Scenario::kCrowd:
      case Scenario::kLearning:
        return;
      case Scenario::kReloads:
        return reload_something();
      case Scenario::kLinks:
        return fault_on_links();
      case Scenario::kServers:
        return fault_on_servers();
      case Scenario::kRestarts:
        return fault_by_restart();
      case Scenario::kDrains:
        return fault_by_drain();
      case Scenario::kEverything:
        break;
    }
    switch (random_.below(6)) {
      case 0:
        return fault_on_links();
      case 1:
        return fault_on_servers();
      case 2:
        return fault_by_restart();
      case 3:
        return fault_by_drain();
      case 4:
        return reload_something();
      default:
        return freeze_something();
    }
  });
}

void World::fault_on_links() {
  const Address link = link_of(*daemons_[random_.between(1, 2)]);
  const Duration time = random_.between(milliseconds(1), milliseconds(600));
  if (random_.percent(40)) {
    network_.say("fault: the link to " + to_string(link) + " is cut");
    return network_.cut(link);
  }
  if (random_.percent(50)) {
    network_.say("fault: the link to " + to_string(link) + " stalls");
    return network_.stall(link, time);
  }
  network_.say("fault: the link to " + to_string(link) + " is cut, and connects are lost");
  network_.lose_connects(link, time);
  network_.cut(link);
}

void World::fault_on_servers() {
  SimServer& server = *servers_[random_.below(servers_.size())];
  if (!server.running()) return;
  const Duration time = random_.between(milliseconds(1), milliseconds(100));
  switch (random_.below(4)) {
    case 0:
      return server.close_connections();
    case 1:
      network_.say("fault: server " + to_string(server.address()) + " stands still");
      return server.freeze(time);
    case 2:
      network_.say("fault: connects to " + to_string(server.address()) + " are lost");
      return network_.lose_connects(server.address(), time);
    default:
      server.kill();
      network_.after(time, [&server] {
        if (!server.running()) server.start();
      });
  }
}

void World::disturb_clients() {
  for (const auto& client : clients_) client->expect_disturbance();
}

void World::bring_back(SimDaemon& daemon, Duration after) {
  network_.after(after, [this, &daemon, after] {
    if (!daemon.running()) return daemon.start();
    if (daemon.draining()) bring_back(daemon, after);
  });
}

void World::fault_by_restart() {
  SimDaemon& daemon = *daemons_[random_.below(daemons_.size())];
  if (&daemon == daemons_.front().get()) disturb_clients();
  daemon.kill();
  bring_back(daemon, random_.between(milliseconds(1), milliseconds(100)));
}

void World::fault_by_drain() {
  SimDaemon& daemon = *daemons_[random_.below(daemons_.size())];
  if (&daemon == daemons_.front().get()) disturb_clients();
  daemon.drain();
  bring_back(daemon, random_.between(milliseconds(1), milliseconds(100)));
}

void World::freeze_something() {
  const Duration time = random_.between(milliseconds(1), milliseconds(500));
  SimDaemon& daemon = *daemons_[random_.below(daemons_.size())];
  network_.say("fault: " + daemon.node().node + " stands still");
  daemon.freeze(time);
}

// Makes a daemon reload: host-a with other peers, and the other hosts with other settings of their
// shared services, or with the other host's servers.
void World::reload_something() {
  const size_t at = random_.below(daemons_.size());
  daemons_[at]->reload([&](NodeConfig& node) {
    node.limits.calls_per_connection_max =
        static_cast<uint32_t>(random_.between(at == 0 ? calls_out_min_ : 2, 40));
    if (at != 0) {
      for (ServedConfig& served : node.serves) {
        if (random_.percent(50)) continue;
        if (served.connections_max != 0) {
          served.connections_max = static_cast<uint32_t>(random_.between(1, 4));
        }
        const size_t host = random_.percent(30) ? 3 - at : at;
        served.upstream.host = "10.0.0." + std::to_string(host + 1);
      }
      return;
    }
    std::vector<std::string> names;
    node.peers.clear();
    const uint64_t which = random_.between(1, 3);  // a bit for each of host-b and host-c
    for (size_t peer = 1; peer <= 2; ++peer) {
      if ((which & peer) == 0) continue;
      names.push_back(daemons_[peer]->node().node);
      node.peers.push_back({names.back(), link_of(*daemons_[peer]), {}});
    }
    for (EndpointConfig& endpoint : node.endpoints) endpoint.peers = names;
  });
}

void World::calm_down() {
  calm_ = true;
  network_.say("all is well from now on");
  for (const auto& server : servers_) {
    if (!server->running()) server->start();
  }
  for (const auto& daemon : daemons_) {
    if (!daemon->running()) {
      daemon->start();
    } else if (daemon->draining()) {
      bring_back(*daemon, milliseconds(20));
    }
  }
}

}  // namespace hat::sim
