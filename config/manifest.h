// SPDX-License-Identifier: Apache-2.0
// config/manifest.h: reads and writes manifests. A manifest lists the services and functions of one
// IDL file with their hints, which decide *how* calls travel. Every node has the same manifests.
// hintgen generates a manifest, and people edit the hints in it. For example:
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
// The keys hatrpc_manifest and services are required. All other keys may be absent; if oneway is
// absent, it is false.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/diagnostics.h"
#include "config/hints.h"
#include "config/signature.h"

namespace hat {

// The rule that says which peers may call a function (the keys `allow` and `allow_mode`). The TLS
// certificate of a peer's link proves the identity of the peer (config/identity.h).
struct AccessRule {
  std::vector<std::string> allow;  // at least one identity rule
  // `allow_mode: dry_run`: the daemon serves the callers that the rule excludes, but counts them.
  bool dry_run = false;

  friend bool operator==(const AccessRule&, const AccessRule&) = default;
};

struct FunctionSpec {
  std::string name;
  // Whether the IDL declares the function oneway. The type of a message does not show this, because
  // some clients send oneway calls as ordinary calls.
  bool oneway = false;
  HintGroups hints;
  std::string origin;                   // FILE:LINE:COLUMN in the IDL, or empty
  std::optional<FieldSpecs> arguments;  // nullopt: unknown, so requests cannot be checked
  std::optional<AccessRule> access;     // absent: the rule of the service applies

  friend bool operator==(const FunctionSpec&, const FunctionSpec&) = default;
};

struct ServiceSpec {
  std::string name;
  HintGroups hints;
  std::vector<FunctionSpec> functions;  // includes inherited functions; in the order of the file
  std::string origin;
  std::optional<AccessRule> access;  // absent: every peer may call
  NamedTypes types;                  // the types that `arguments` use
  // Requests may have fields that `arguments` and `types` do not list, if these fields are scalars
  // or strings.
  bool allow_unknown_fields = false;

  friend bool operator==(const ServiceSpec&, const ServiceSpec&) = default;
};

struct Manifest {
  std::string source;  // the IDL file from which it was generated, or empty
  std::vector<ServiceSpec> services;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Reads a manifest from `text`, the contents of `file`. Adds every error in the text to
// `diagnostics`. The result is meaningful only if no error was added.
Manifest read_manifest(const std::string& text, const std::string& file, Diagnostics& diagnostics);

struct ManifestPath {
  std::string path;         // a file or a directory
  SourceLocation location;  // where this path is written
};

// Reads all files and directories in `paths` as one manifest. In a directory, reads every *.yaml
// and *.yml file in the order of names, and follows symbolic links. It is an error if a service is
// defined twice; the diagnostic names both locations.
Manifest load_manifests(const std::vector<ManifestPath>& paths, Diagnostics& diagnostics);

// Returns the manifest as text, which read_manifest() reads back as the same value. The order of
// keys is always the same, and sizes have units.
std::string write_manifest(const Manifest& manifest);

}  // namespace hat
