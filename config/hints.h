// SPDX-License-Identifier: Apache-2.0
// config/hints.h: what a service or a function cares about, as plain data.
//
// A hint is a wish of the application's author or of the operator; engine/plan/planner.h turns
// hints and what a host can do into a plan. Spelled alike in IDL and YAML; every key, its values
// and its older spelling stand in config/hint_keys.h.
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
enum class Subscription : uint8_t { kUnder, kFull, kOver };  // callers against cores, HatRPC 3.3

// Callers at once: a number, which the planner compares with the host's cores, or the answer
// itself.
using Concurrency = std::variant<uint32_t, Subscription>;

// A NUMA node's number, or one of two words.
enum class NumaWord : uint8_t { kNic, kAny };
using Numa = std::variant<uint32_t, NumaWord>;

// One group of hints. An absent key says nothing, so that a weaker group may say it.
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

// The three groups of HatRPC's grammar: `hint` for both sides, `c_hint`, `s_hint`.
struct HintGroups {
  Hints both;
  Hints client;
  Hints server;

  bool empty() const { return both.empty() && client.empty() && server.empty(); }
  friend bool operator==(const HintGroups&, const HintGroups&) = default;
};

enum class Side : uint8_t { kClient, kServer };

// `stronger` where it says something, else `weaker`.
Hints overlay(const Hints& stronger, const Hints& weaker);
// Group by group: a child service over its parent.
HintGroups overlay(const HintGroups& stronger, const HintGroups& weaker);

// The hints that hold for one side of one function: function over service, then side over both.
Hints effective(const HintGroups& function, const HintGroups& service, Side side);

}  // namespace hat
