// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_plans.h: the plans of one worker for calls to one peer, of the
// functions whose plan depends on the peer. It also has what the worker has learned about these
// calls: a LearnedRoute for each function with `plan: learned` that was called.
//
// A LearnedRoute is never deleted before the PeerPlans, because calls in flight refer to it. So
// what was learned also survives a reload that keeps the function's choices.
//
// Bounds   One LearnedRoute for each function that had the hint since the worker began, and was
//          called.
// Thread   the worker's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/learned_choices.h"
#include "daemon/metrics/counters.h"
#include "daemon/proxy/outbound/learned_route.h"
#include "daemon/routing/routing_table.h"

namespace hat {

class PeerPlans {
 public:
  struct Function {
    const Route* route = nullptr;
    const CallPlan* plan = nullptr;  // of calls to this peer
    const FunctionCounters* counters = nullptr;
    LearnedRoute* learned = nullptr;  // null before learn(), or if nothing is to learn
  };

  // Makes an object without a table. `measured_as` is the peer whose profile counts
  // (name_in_file()).
  PeerPlans(std::string peer, std::string measured_as, size_t worker, uint64_t seed)
      : peer_(std::move(peer)),
        measured_as_(std::move(measured_as)),
        worker_(worker),
        seed_(seed) {}

  // Uses the functions and the choices of this table from now on. Releases the lanes in `lanes` of
  // choices that are no longer used.
  void set_table(std::shared_ptr<const RoutingTable> table, TrialLanes& lanes);
  // Returns the function with this number in the table (Route::by_peer_number) and with these
  // counters on the client's side. Returns null if the table has another function with this number,
  // because a reload came after the caller had looked up the number. The result is valid until
  // set_table().
  Function* find(uint32_t number, const FunctionCounters& counters);
  // Returns what is learned about the function, which find() has returned, from now on; null if
  // nothing is to learn.
  LearnedRoute* learn(Function& function);

  // Returns true if calls of some function want the lane `key` to a server with these cores: by the
  // function's current choice, or else by its plan for this peer.
  bool is_wanted(const LaneKey& key, const engine::CoreCounts& server) const;

  // Makes no function learn about choices that use this kind of lane, which has failed.
  void on_lane_failed(const LaneKey& key, const engine::CoreCounts& server, TimePoint now,
                      TrialLanes& lanes);

  // Sets the choices of an earlier process. Functions that were not called yet begin with them.
  void set_kept(std::shared_ptr<const LearnedChoices> kept) { kept_ = std::move(kept); }

  std::vector<LearnedStatus> status() const;
  // Returns the name of the peer whose profile counts.
  const std::string& measured_as() const { return measured_as_; }

 private:
  std::string_view kept_choice(const Route& route) const;

  const std::string peer_;
  const std::string measured_as_;
  const size_t worker_;
  const uint64_t seed_;
  std::shared_ptr<const LearnedChoices> kept_;  // null: none
  std::shared_ptr<const RoutingTable> table_;
  std::vector<Function> functions_;  // by Route::by_peer_number - 1
  std::unordered_map<const FunctionCounters*, std::unique_ptr<LearnedRoute>> all_;
};

}  // namespace hat
