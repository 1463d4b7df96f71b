// SPDX-License-Identifier: Apache-2.0
// config/hints.h: the performance hints of a service or a function, as plain data.
//
// A hint is a statement of a developer or an operator about a function, for example how large its
// messages are. From the hints and from facts about the host, the planner (engine/plan/planner.h)
// makes a plan, which says how to carry the function's messages. IDL and YAML files use the same
// keys and values for hints; config/hint_keys.h lists them.
//
// Source: HatRPC (SC'21) 4.1 for the hierarchy; docs/hints.md for the reference.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace hat {

enum class PerfGoal : uint8_t { kLatency, kThroughput, kResUtil };
enum class Polling : uint8_t { kBusy, kEvent, kAdaptive };
enum class Path : uint8_t { kRdma, kTcp };  // the hint `transport`
enum class Priority : uint8_t { kLow, kNormal, kHigh };
// The source of a function's plan (the hint `plan`): the hints, or measurements that begin with
// the plan of the hints.
enum class PlanSource : uint8_t { kHinted, kLearned };
// Whether a host has fewer callers than cores, as many as cores, or more (HatRPC, section 3.3).
enum class Subscription : uint8_t { kUnder, kFull, kOver };

// The number of concurrent callers, which the planner compares with the host's cores, or the result
// of this comparison.
using Concurrency = std::variant<uint32_t, Subscription>;

// The value of the hint `numa`: the number of a NUMA node, or a word.
enum class NumaWord : uint8_t { kNic, kAny };
using Numa = std::variant<uint32_t, NumaWord>;

// One group of hints. If a group does not set a hint, the value of a group with lower precedence
// applies (overlay()).
struct Hints {
  std::optional<PerfGoal> perf_goal;
  std::optional<Concurrency> concurrency;
  std::optional<uint64_t> payload_bytes;  // `payload_size`
  std::optional<Polling> polling;
  std::optional<std::string> protocol;  // a name in kProtocolWords of config/hint_keys.h
  std::optional<Path> transport;
  std::optional<PlanSource> plan;
  std::optional<Numa> numa;
  std::optional<Priority> priority;
  std::optional<std::chrono::milliseconds> timeout;  // `timeout_ms`, at least 1
  std::optional<bool> idempotent;

  bool empty() const { return *this == Hints{}; }
  friend bool operator==(const Hints&, const Hints&) = default;
};

// The three groups of hints in HatRPC's grammar: `hint` for messages of both sides, `c_hint` for
// messages of the client, `s_hint` for messages of the server.
struct HintGroups {
  Hints both;
  Hints client;
  Hints server;

  bool empty() const { return both.empty() && client.empty() && server.empty(); }
  friend bool operator==(const HintGroups&, const HintGroups&) = default;
};

enum class Side : uint8_t { kClient, kServer };

// Returns all hints of `stronger`, and those hints of `weaker` that `stronger` does not set.
Hints overlay(const Hints& stronger, const Hints& weaker);
// Applies overlay() to each of the three groups. Pass the hints of a service as `stronger`, and the
// hints of its parent (the service that it extends) as `weaker`.
HintGroups overlay(const HintGroups& stronger, const HintGroups& weaker);

// Returns the hints that apply to one side of one function. In order of precedence: the function's
// hints for that side, the function's hints for both sides, the service's hints for that side, the
// service's hints for both sides.
Hints effective(const HintGroups& function, const HintGroups& service, Side side);

}  // namespace hat
