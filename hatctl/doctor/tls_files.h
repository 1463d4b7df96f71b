// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/tls_files.h: facts about the TLS files (certificate, key and CA) that `link.tls` in
// the configuration names: which users may read the files, and whether hatrpcd can use the files.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "config/node.h"
#include "daemon/tls/certificate.h"

namespace hat::doctor {

// One step on the path to a file: a folder, or the file itself.
struct PathStep {
  std::string path;
  mode_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

struct TlsFile {
  std::string key;            // the key under link.tls: "certificate", "key" or "ca"
  std::string path;           // as configured
  std::string error;          // why the file cannot be found; empty: the file exists
  bool hidden = false;        // the file cannot be judged, because hatctl's user may not read it
  std::vector<PathStep> way;  // from "/" to the file itself, with symbolic links resolved
};

struct TlsFiles {
  std::vector<TlsFile> files;  // empty: the node has no `link.tls`
  std::string error;           // why hatrpcd cannot use the files; empty: hatrpcd can use them
  // `certificate` and `authorities` are set only if hatrpcd can use the files.
  std::optional<CertificateFacts> certificate;  // the node's own certificate
  std::vector<CertificateFacts> authorities;    // the certificates in the file `ca`
};

// Finds out which users may read the files that `config` names. Does not read the files' contents.
std::vector<TlsFile> look_at(const TlsConfig& config);

}  // namespace hat::doctor
