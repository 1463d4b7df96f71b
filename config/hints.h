// SPDX-License-Identifier: Apache-2.0
// config/hints.h: the performance hints of a service or a function, as plain data.
//
// A hint is a statement of the application's author or of the operator about a function: how large
// its messages are, for example. From the hints and the facts about a host, engine/plan/planner.h
// makes a plan, which says how to carry the function's messages. IDL and YAML files use the same
// spelling of hints; config/hint_keys.h lists every key, its values and its older spelling.
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
// Whether a host has fewer callers than cores, as many, or more (HatRPC 3.3).
enum class Subscription : uint8_t { kUnder, kFull, kOver };

// The number of concurrent callers, which the planner compares with the host's cores, or the result
// of this comparison.
using Concurrency = std::variant<uint32_t, Subscription>;

// A NUMA node's number, or one of two words.
enum class NumaWord : uint8_t { kNic, kAny };
using Numa = std::variant<uint32_t, NumaWord>;

// One group of hints. If a hint is absent in this group, a group of lower precedence may set the
// hint (overlay()).
struct Hints {
  std::optional<PerfGoal> perf_goal;
  std::optional<Concurrency> concurrency;
  std::optional<uint64_t> payload_bytes;  // `payload_size`
  std::optional<Polling> polling;
  std::optional<std::string> protocol;  // a name of engine/protocols.h, checked when read
  std::optional<Path> transport;
  std::optional<Numa> numa;
  std::optional<Priority> priority;
  std::optional<std::chrono::milliseconds> timeout;  // `timeout_ms`, at least 1
  std::optional<bool> idempotent;

  bool empty() const { return *this == Hints{}; }
  friend bool operator==(const Hints&, const Hints&) = default;
};

// The three groups of hints in HatRPC's grammar: `hint` for both sides, `c_hint` for the client,
// `s_hint` for the server.
struct HintGroups {
  Hints both;
  Hints client;
  Hints server;

  bool empty() const { return both.empty() && client.empty() && server.empty(); }
  friend bool operator==(const HintGroups&, const HintGroups&) = default;
};

enum class Side : uint8_t { kClient, kServer };

// Returns the hints of `stronger`, and those of `weaker` that `stronger` does not set.
Hints overlay(const Hints& stronger, const Hints& weaker);
// Returns the result of overlay() for each of the three groups. Used for a service (`stronger`) and
// the service that it extends (`weaker`).
HintGroups overlay(const HintGroups& stronger, const HintGroups& weaker);

// Returns the hints that apply to one side of one function. In order of precedence: the function's
// hints for that side, the function's hints for both sides, the service's hints for that side, the
// service's hints for both sides.
Hints effective(const HintGroups& function, const HintGroups& service, Side side);

}  // namespace hat
