// SPDX-License-Identifier: Apache-2.0
// daemon/tls/make_certificates.h: makes certificates for trials: a CA, and a certificate for each
// node. They are not safe for production, because the CA's key is in the same folder.
// docs/security.md describes how to get certificates for production.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace hat {

struct CertificateWish {
  std::string folder;                        // created if it does not exist
  std::vector<std::string> nodes;            // names of 1 to 255 characters from A-Z a-z 0-9 _ . -
  std::string trust_domain = "hatrpc.test";  // used in the nodes' SPIFFE ids
  std::chrono::seconds valid = std::chrono::hours(24 * 30);  // from now; negative: already expired
};

// Writes FOLDER/ca.pem and ca.key, valid for ten years, unless FOLDER/ca.pem exists. Writes
// NODE.pem and NODE.key for each node, and replaces older files. A node's certificate has the names
// NODE (a DNS name) and spiffe://TRUST_DOMAIN/NODE, and is valid for both ends of a link. All keys
// are on curve P-256, and only the owner of a file can read a key. Each file appears completely or
// not at all. Returns the paths of the files that were written.
Result<std::vector<std::string>> make_certificates(const CertificateWish& wish);

}  // namespace hat
