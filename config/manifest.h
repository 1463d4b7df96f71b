// SPDX-License-Identifier: Apache-2.0
// config/manifest.h: *how* calls travel: services, functions, hints. One file per IDL file, the
// same on every node; hintgen writes it, people edit its hints.
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
// Required: hatrpc_manifest, services; everything else may be absent (oneway: false).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/hints.h"
#include "config/mistakes.h"
#include "config/signature.h"

namespace hat {

// Which peers may call: `allow`. Their links prove who they are (config/identity.h).
struct AccessRule {
  std::vector<std::string> allow;  // at least one
  bool dry_run = false;            // `allow_mode`: whoever may not is counted, and served

  friend bool operator==(const AccessRule&, const AccessRule&) = default;
};

struct FunctionSpec {
  std::string name;
  bool oneway = false;  // from the IDL: the message type on the wire is not to be trusted
  HintGroups hints;
  std::string origin;                   // FILE:LINE:COLUMN in the IDL, or empty
  std::optional<FieldSpecs> arguments;  // absent: not known, and requests are not held against them
  std::optional<AccessRule> access;     // absent: the service's

  friend bool operator==(const FunctionSpec&, const FunctionSpec&) = default;
};

struct ServiceSpec {
  std::string name;
  HintGroups hints;
  std::vector<FunctionSpec> functions;  // inherited ones included; in the order of the file
  std::string origin;
  std::optional<AccessRule> access;   // absent: every peer may call
  NamedTypes types;                   // what arguments are made of
  bool allow_unknown_fields = false;  // scalars and strings that `arguments` and `types` lack

  friend bool operator==(const ServiceSpec&, const ServiceSpec&) = default;
};

struct Manifest {
  std::string source;  // the IDL file it was made from, or empty
  std::vector<ServiceSpec> services;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Reads one file's text. Every mistake goes to `mistakes`; the result is meaningful if none was
// added.
Manifest read_manifest(const std::string& text, const std::string& file, Mistakes& mistakes);

struct ManifestPath {
  std::string path;  // a file or a directory
  Place place;       // where it is named
};

// Reads files and directories (every *.yaml and *.yml in them, by name, links followed) as one
// manifest. A service named twice is a mistake, told with both places.
Manifest load_manifests(const std::vector<ManifestPath>& paths, Mistakes& mistakes);

// The text that read_manifest() reads back as the same value: stable order, sizes with units.
std::string write_manifest(const Manifest& manifest);

}  // namespace hat
