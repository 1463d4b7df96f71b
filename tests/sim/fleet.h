// SPDX-License-Identifier: Apache-2.0
// tests/sim/fleet.h: simulates many daemons that have links to each other, and measures in
// simulated time how long the fleet takes to follow a change.
//
// Each node has a daemon with one worker, a server and clients. Its daemon has a link to each of
// `peers` other nodes, and one to the hot node, which serves the service Hot for all.
//
//   app… ──▶ node ══ link ══▶ a peer ──▶ server         (`peers` times)
//                 ╚══ link ══▶ the hot node ──▶ server   (all nodes have this peer)
//
// Links are TCP. A link's messages take 20 µs to 200 µs for each direction. The daemons' processor
// time is not simulated: each event of a daemon takes at most 15 µs, whatever it does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/sim_client.h"
#include "tests/sim/sim_daemon.h"
#include "tests/sim/sim_server.h"

namespace hat::sim {

struct FleetPlan {
  size_t nodes = 100;
  size_t peers = 20;  // of each node, beside the hot node; at most `nodes` - 2
  uint64_t seed = 1;
};

// The time from the beginning of a step until half of the nodes, and all nodes, had done it.
struct FleetStep {
  std::string name;
  Duration half{};
  Duration all{};
  uint64_t failed_calls = 0;
};

class Fleet {
 public:
  explicit Fleet(const FleetPlan& plan);
  ~Fleet() { network_.drop_events(); }

  // Runs these steps, one after the other:
  //  - all daemons start at the same time, until each has all its links;
  //  - each node calls each of its peers once, all at the same time;
  //  - all daemons reload at the same time a file that names another hot node, and each node calls
  //    the service Hot, until the new hot node has answered it;
  //  - the daemon of the new hot node dies, and starts again one second later: until each other
  //    daemon has a link to it again;
  //  - each node calls the service Hot once more.
  std::vector<FleetStep> run();

  // Returns a text that says which promise hatrpcd has broken, or which step did not end; empty if
  // there is none.
  const std::string& broken() const { return book_.first_broken(); }
  // Returns how many links one daemon has: those that it has opened and those that it has accepted.
  size_t links_of_an_ordinary_node();
  size_t links_of_the_hot_node();
  uint64_t events() const { return network_.events_run(); }

 private:
  void add_node(size_t number);
  NodeConfig configuration(size_t number);
  void call_hot(std::vector<SimClient*>& callers);
  SimClient& add_client(size_t node, size_t port);
  template <class Done>
  FleetStep measure(const std::string& name, size_t count, Done done);
  FleetStep measure_calls(const std::string& name, const std::vector<SimClient*>& callers);
  FleetStep measure_links(const std::string& name);

  const FleetPlan plan_;
  const Manifest manifest_;
  SimNetwork network_;
  CallBook book_;
  Random random_;
  std::vector<std::unique_ptr<SimDaemon>> daemons_;  // the last one is the new hot node
  std::vector<std::unique_ptr<SimServer>> servers_;
  std::vector<std::unique_ptr<SimClient>> clients_;
};

}  // namespace hat::sim
