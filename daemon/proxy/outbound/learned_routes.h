// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/learned_routes.h: what one worker learns about the calls to one peer: a
// LearnedRoute for each function with `plan: learned` that was called.
//
// A LearnedRoute is never deleted before the LearnedRoutes, because calls in flight refer to it. So
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

class LearnedRoutes {
 public:
  LearnedRoutes(std::string peer, size_t worker, uint64_t seed)
      : peer_(std::move(peer)), worker_(worker), seed_(seed) {}

  // Uses the functions and the choices of this table from now on. Releases the lanes in `lanes` of
  // choices that are no longer used.
  void set_table(std::shared_ptr<const RoutingTable> table, TrialLanes& lanes);
  // Returns the LearnedRoute of the function with this number in the table (Route::learned_number)
  // and with these counters on the client's side. Returns null if the table has another function
  // with this number, because a reload came after the caller had looked up the number.
  LearnedRoute* find(uint32_t number, const FunctionCounters& counters);

  // Returns true if calls of some function want the lane `key` to a server with these cores: by the
  // function's current choice, or else by its plan.
  bool is_wanted(const LaneKey& key, const engine::CoreCounts& server) const;

  // Makes no function learn about choices that use this kind of lane, which has failed.
  void on_lane_failed(const LaneKey& key, const engine::CoreCounts& server, TimePoint now,
                      TrialLanes& lanes);

  // Sets the choices of an earlier process. Functions that were not called yet begin with them.
  void set_kept(std::shared_ptr<const LearnedChoices> kept) { kept_ = std::move(kept); }

  std::vector<LearnedStatus> status() const;

 private:
  struct Function {
    const Route* route = nullptr;  // in `table_`
    const FunctionCounters* counters = nullptr;
    LearnedRoute* learned = nullptr;  // null before the first call
  };

  std::string_view kept_choice(const Route& route) const;

  const std::string peer_;
  const size_t worker_;
  const uint64_t seed_;
  std::shared_ptr<const LearnedChoices> kept_;  // null: none
  std::shared_ptr<const RoutingTable> table_;
  std::vector<Function> functions_;  // by Route::learned_number - 1
  std::unordered_map<const FunctionCounters*, std::unique_ptr<LearnedRoute>> all_;
};

}  // namespace hat
