// SPDX-License-Identifier: Apache-2.0
// config/manifest.h: reads and writes manifests. A manifest lists the services and functions of one
// IDL file with their hints, from which the daemons choose how to carry calls. Every node has the
// same manifests. hintgen writes a manifest, and people can edit the hints in it. For example:
//
//   hatrpc_manifest: 1
//   source: kv/hatkv.thrift
//   services:
//     HatKV:
//       origin: kv/hatkv.thrift:21:9
//       hint: {perf_goal: latency, concurrency: 16}
//       functions:
//         get:
//           origin: kv/hatkv.thrift:30:9
//           oneway: false
//           arguments: {1: string, 2: "list<Pair>"}
//           c_hint: {payload_size: 64B}
//           s_hint: {payload_size: 1KiB}
//           allow: ["spiffe://prod.example/hosts/*"]
//           allow_mode: dry_run
//       types:
//         Pair: {1: required string, 2: i64}
//       allow_unknown_fields: false
//
// Only the keys hatrpc_manifest and services are required. If oneway is absent, it is false.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config_paths.h"
#include "config/diagnostics.h"
#include "config/hints.h"
#include "config/signature.h"

namespace hat {

// Says which peers may call a function (the keys `allow` and `allow_mode`). A peer proves its
// identity with the TLS certificate of its link (config/identity.h).
struct AccessRule {
  std::vector<std::string> allow;  // at least one identity rule
  // True for `allow_mode: dry_run`: the daemon serves and counts the calls of excluded peers.
  bool dry_run = false;

  friend bool operator==(const AccessRule&, const AccessRule&) = default;
};

struct FunctionSpec {
  std::string name;
  // True if the IDL declares the function oneway. The messages do not always show this, because
  // some clients send a oneway call with the message type of a two-way call.
  bool oneway = false;
  HintGroups hints;
  std::string origin;                   // FILE:LINE:COLUMN in the IDL, or empty
  std::optional<FieldSpecs> arguments;  // nullopt if unknown; then requests cannot be checked
  std::optional<AccessRule> access;     // nullopt if the rule of the service applies

  friend bool operator==(const FunctionSpec&, const FunctionSpec&) = default;
};

struct ServiceSpec {
  std::string name;
  HintGroups hints;
  std::vector<FunctionSpec> functions;  // includes inherited functions; in the order of the file
  std::string origin;
  std::optional<AccessRule> access;  // nullopt if every peer may call
  NamedTypes types;                  // the types that the functions' `arguments` use
  // True if a request may have fields that `arguments` and `types` do not list. Such fields must be
  // scalars or strings.
  bool allow_unknown_fields = false;

  friend bool operator==(const ServiceSpec&, const ServiceSpec&) = default;
};

struct Manifest {
  std::string source;  // the IDL file from which hintgen made the manifest, or empty
  std::vector<ServiceSpec> services;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Reads a manifest from `text`, the contents of `file`. Adds every error in the text to
// `diagnostics`. Use the result only if no error was added.
Manifest read_manifest(const std::string& text, const std::string& file, Diagnostics& diagnostics);

// Reads the files that `paths` name (config_files()), and returns their services as one manifest.
// If a service is defined twice, adds an error with both source locations.
Manifest load_manifests(const std::vector<ConfigPath>& paths, Diagnostics& diagnostics);

// The beginning of each text that write_manifest() returns.
inline constexpr std::string_view kWrittenByHintgen = "# Written by hintgen.";

// Returns the manifest as text, from which read_manifest() makes an equal manifest. The order of
// keys is always the same, and sizes have units.
std::string write_manifest(const Manifest& manifest);

}  // namespace hat
