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
  std::string key;            // "certificate", "key", "ca": under link.tls
  std::string path;           // as configured
  std::string error;          // why it cannot be found; empty: it exists
  bool hidden = false;        // the user of hatctl may not read it, so that it cannot be judged
  std::vector<PathStep> way;  // from "/" to the file itself, with symbolic links resolved
};

struct TlsFiles {
  std::vector<TlsFile> files;  // empty: the node has no `link.tls`
  std::string error;           // why hatrpcd cannot use the files; empty: it can
  // Both are set only if hatrpcd can use the files.
  std::optional<CertificateFacts> certificate;  // the node's own
  std::vector<CertificateFacts> authorities;    // those of `ca`
};

// Finds out which users may read the files. Does not read the contents of the files, because
// load_configuration() reads them.
std::vector<TlsFile> look_at(const TlsConfig& config);

}  // namespace hat::doctor
