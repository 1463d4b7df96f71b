// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/tls_files.h: the files that `link.tls` names, as plain data: who may read
// them, and what hatrpcd makes of them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "config/node.h"
#include "daemon/tls/certificate.h"

namespace hat::doctor {

// A folder on the way to a file, or the file.
struct PathStep {
  std::string path;
  mode_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

struct TlsFile {
  std::string key;            // "certificate", "key", "ca": under link.tls
  std::string path;           // as it is configured
  std::string error;          // why it cannot be looked at; empty: it is there
  bool hidden = false;        // whoever runs hatctl may not read it: nothing is known of it
  std::vector<PathStep> way;  // from "/" to the file itself, links followed
};

struct TlsFiles {
  std::vector<TlsFile> files;                   // none: the node has no `link.tls`
  std::string error;                            // why hatrpcd can't use them; empty: it can, then:
  std::optional<CertificateFacts> certificate;  // the node's own
  std::vector<CertificateFacts> authorities;    // of `ca`
};

// Who may read them; what they say is the configuration's to read.
std::vector<TlsFile> look_at(const TlsConfig& config);

}  // namespace hat::doctor
