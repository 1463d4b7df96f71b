// SPDX-License-Identifier: Apache-2.0
// config/hint_keys.h: the table of all hints, with the key, the values and the meaning of each
// hint. A hint is a statement of a developer about a function or service; from the hints the daemon
// chooses how to carry the calls.
//
// The code that reads hints in IDL and YAML files uses this table. A test compares docs/hints.md
// with this table.
#pragma once

#include <array>
#include <string_view>

namespace hat {

inline constexpr std::array<std::string_view, 3> kPerfGoalWords = {"latency", "throughput",
                                                                   "res_util"};
inline constexpr std::array<std::string_view, 3> kPollingWords = {"busy", "event", "adaptive"};
inline constexpr std::array<std::string_view, 2> kTransportWords = {"rdma", "tcp"};
inline constexpr std::array<std::string_view, 2> kPlanWords = {"hinted", "learned"};
inline constexpr std::array<std::string_view, 3> kPriorityWords = {"low", "normal", "high"};
inline constexpr std::array<std::string_view, 3> kSubscriptionWords = {"under", "full", "over"};
inline constexpr std::array<std::string_view, 2> kNumaWords = {"nic", "any"};
inline constexpr std::array<std::string_view, 2> kBoolWords = {"false", "true"};
// The names of the protocols in engine/protocols.h. This file repeats the list because files of
// config/ must not include files of engine/. A test in engine/ compares the two lists.
inline constexpr std::array<std::string_view, 13> kProtocolWords = {
    "eager",
    "direct_write_send",
    "chained_write_send",
    "direct_write_imm",
    "write_rndv",
    "read_rndv",
    "hybrid_eager_rndv",
    "ar_grpc",
    "rfp",
    "farm",
    "pilaf",
    "herd",
    "hipower",
};

struct HintKey {
  std::string_view name;
  // The older spelling of the key, which the software of the HatRPC paper uses; empty if none.
  std::string_view older;
  // A description of the valid values, for error messages and docs/hints.md.
  std::string_view values;
  std::string_view meaning;
};

inline constexpr std::array kHintKeys = {
    HintKey{"perf_goal", "", "latency, throughput or res_util", "what the function is tuned for"},
    HintKey{"concurrency", "", "a number of callers, or under, full or over",
            "how many callers there are at once, compared with the host's cores"},
    HintKey{"payload_size", "", "bytes, such as 512, 4KiB or 1MiB",
            "how large the function's messages are"},
    HintKey{"polling", "perf_pref", "busy, event or adaptive",
            "how the daemon waits for completions"},
    HintKey{"protocol", "proto", "a protocol's name",
            "the RDMA protocol, instead of the planner's"},
    HintKey{"transport", "", "rdma or tcp", "tcp: calls never use RDMA"},
    HintKey{"plan", "", "hinted or learned",
            "learned: the daemon measures other plans than the hints', and may use one of them"},
    HintKey{"numa", "", "a node's number, nic or any",
            "the NUMA node of the worker's memory and core"},
    HintKey{"priority", "", "low, normal or high", "which calls go first if calls compete"},
    HintKey{"timeout_ms", "", "milliseconds, from 1", "how long a caller waits for the reply"},
    HintKey{"idempotent", "", "true or false", "whether servers may execute a call more than once"},
};

}  // namespace hat
