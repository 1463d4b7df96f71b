// SPDX-License-Identifier: Apache-2.0
// tests/sim/world.h: one run of the simulation: client applications, three daemons, servers, the
// faults that the seed chooses, and the checks at the end.
//
//   app… ──▶ host-a ══ link ══▶ host-b ──▶ servers
//                  ╚══ link ══▶ host-c ──▶ servers
//
// In the scenario kHostile, these are hostile: some clients of host-a, some peers of host-b and
// host-c, and the servers of the services Liar and LiarPool. They must not affect any call of an
// honest client to an honest server.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/sim/hostile.h"
#include "tests/sim/sim_client.h"
#include "tests/sim/sim_daemon.h"
#include "tests/sim/sim_server.h"

namespace hat::sim {

// The kind of faults in a run. Its number is the seed modulo kScenarios.
enum class Scenario : uint8_t {
  kCalm,
  kLinks,
  kServers,
  kRestarts,
  kDrains,
  kHostile,  // no faults, but hostile clients, peers and servers
  kEverything,
  kCrowd,     // no faults, but many clients with equal plans and more bytes than the link carries
  kLearning,  // no faults, but plans that are learned from many calls
  kReloads,   // no faults, but the daemons reload changed configurations
};
inline constexpr uint64_t kScenarios = 10;
inline constexpr const char* kScenarioNames[] = {"calm",     "links",   "servers",    "restarts",
                                                 "drains",   "hostile", "everything", "crowd",
                                                 "learning", "reloads"};

// Deliberate mistakes in a run without other faults. The simulation must find each of them.
enum class Canary : uint8_t {
  kNone,
  kHandledTwice,
  kSwappedReplies,
  kChangedReply,
  kForgottenReply,
  kForeignReply,
  kLostOneway,
  kLostSegment,
  kKeptConnection,
  kStarvedClient,
};
struct CanaryName {
  Canary canary;
  const char* name;
};
inline constexpr CanaryName kCanaries[] = {
    {Canary::kHandledTwice, "a call handled twice"},
    {Canary::kSwappedReplies, "two replies in the wrong order"},
    {Canary::kChangedReply, "a changed byte in a reply"},
    {Canary::kForgottenReply, "a reply that never comes"},
    {Canary::kForeignReply, "a reply with another sequence id"},
    {Canary::kLostOneway, "a oneway call that never arrives"},
    {Canary::kLostSegment, "bytes that the network loses without a sign"},
    {Canary::kKeptConnection, "a connection that never ends"},
    {Canary::kStarvedClient, "a client that gets less than its share"},
};

struct Verdict {
  std::string broken;  // the first broken promise; empty if none was broken
  uint64_t calls = 0;
  uint64_t replies = 0;
  uint64_t exceptions = 0;
  uint64_t by_rdma = 0;  // how many of `calls` used RDMA
  uint64_t trials = 0;   // of other choices than the current one, for learned plans
  uint64_t retries = 0;  // calls that were sent again
  uint64_t resumes = 0;  // streams that continued after the loss of their RDMA lane
  uint64_t events = 0;
  uint64_t fingerprint = 0;
};

class World {
 public:
  World(uint64_t seed, Canary canary, bool trace);
  ~World() { network_.drop_events(); }
  Verdict run();

 private:
  void say_what_may_fail();
  void build_daemons();
  void build_servers();
  void build_clients();
  void stay_on_one_lane(ClientPlan& plan);
  void build_crowd();
  void build_hostile();
  void plant_canary();
  void plan_faults();
  void plan_fault(TimePoint when);
  void fault_on_links();
  void fault_on_servers();
  void fault_by_restart();
  void fault_by_drain();
  void freeze_something();
  void reload_something();
  void disturb_clients();
  void bring_back(SimDaemon& daemon, Duration after);
  void calm_down();
  bool nothing_fails() const {
    return scenario_ == Scenario::kCalm || scenario_ == Scenario::kHostile ||
           scenario_ == Scenario::kCrowd || scenario_ == Scenario::kLearning ||
           scenario_ == Scenario::kReloads;
  }
  bool clients_done() const;
  bool stopped() const { return !book_.first_broken().empty(); }
  void check_buffers();
  void check_shares();
  void check_oneways();
  void check_at_rest();
  void check_drains();

  const Scenario scenario_;
  const Canary canary_;
  SimNetwork network_;
  CallBook book_;
  Random random_;
  std::vector<std::unique_ptr<SimDaemon>> daemons_;  // host-a, host-b, host-c
  uint64_t calls_out_min_ = 2;    // the least limits.max_pipelined that a reload gives to host-a
  bool only_lanes_fail_ = false;  // in the scenario kLinks: RDMA lanes, and no TCP connections
  std::vector<std::unique_ptr<SimServer>> servers_;
  std::vector<std::unique_ptr<SimClient>> clients_;
  std::vector<std::unique_ptr<Hostile>> hostile_;
  bool calm_ = false;
  bool shares_checked_ = false;
};

}  // namespace hat::sim
