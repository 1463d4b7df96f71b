// SPDX-License-Identifier: Apache-2.0
// config/manifest.h: *how* calls travel: services, functions, hints. There is one file per IDL
// file, the same on every node. hintgen writes the file, and people edit the hints in it.
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
//           c_hint: {payload_size: 64}
//           s_hint: {payload_size: 1KiB}
//           allow: ["spiffe://prod.example/hosts/*"]
//           allow_mode: dry_run
//       types:
//         Pair: {1: required string, 2: i64}
//       allow_unknown_fields: false
//
// Required: hatrpc_manifest and services. All other keys may be absent (oneway: false).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/diagnostics.h"
#include "config/hints.h"
#include "config/signature.h"

namespace hat {

// The peers that may call: `allow`. Their links prove their identity (config/identity.h).
struct AccessRule {
  std::vector<std::string> allow;  // at least one
  bool dry_run = false;  // `allow_mode`: counts callers that the rule excludes, but serves them

  friend bool operator==(const AccessRule&, const AccessRule&) = default;
};

struct FunctionSpec {
  std::string name;
  bool oneway = false;  // from the IDL: the message type on the wire is not reliable
  HintGroups hints;
  std::string origin;                   // FILE:LINE:COLUMN in the IDL, or empty
  std::optional<FieldSpecs> arguments;  // absent: unknown; requests are not checked against them
  std::optional<AccessRule> access;     // absent: the rule of the service applies

  friend bool operator==(const FunctionSpec&, const FunctionSpec&) = default;
};

struct ServiceSpec {
  std::string name;
  HintGroups hints;
  std::vector<FunctionSpec> functions;  // with inherited functions; in the order of the file
  std::string origin;
  std::optional<AccessRule> access;   // absent: every peer may call
  NamedTypes types;                   // the types that `arguments` use
  bool allow_unknown_fields = false;  // accept scalars and strings not in `arguments` or `types`

  friend bool operator==(const ServiceSpec&, const ServiceSpec&) = default;
};

struct Manifest {
  std::string source;  // the IDL file from which it was generated, or empty
  std::vector<ServiceSpec> services;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Reads the text of one file. Adds every error found to `mistakes`; the result is meaningful if
// none was added.
Manifest read_manifest(const std::string& text, const std::string& file, Diagnostics& diagnostics);

struct ManifestPath {
  std::string path;         // a file or a directory
  SourceLocation location;  // where this path is written
};

// Reads files and directories as one manifest. Of a directory, reads every *.yaml and *.yml file in
// the order of their names, and follows links. It is an error if a service is defined twice; the
// diagnostic names both locations.
Manifest load_manifests(const std::vector<ManifestPath>& paths, Diagnostics& diagnostics);

// Returns the text that read_manifest() reads back as the same value. The order is stable, and
// sizes have units.
std::string write_manifest(const Manifest& manifest);

}  // namespace hat
