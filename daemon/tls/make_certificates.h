// SPDX-License-Identifier: Apache-2.0
// daemon/tls/make_certificates.h: makes certificates for trials: a CA, and a certificate for each
// node. They are not for production, because the CA's key is in the same folder as the certificates
// that it signs. docs/security.md describes the ways for production.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace hat {

struct CertificateWish {
  std::string folder;                        // created if it does not exist
  std::vector<std::string> nodes;            // each of [A-Za-z0-9_.-], 1 to 255 bytes
  std::string trust_domain = "hatrpc.test";  // the trust domain in the nodes' SPIFFE ids
  std::chrono::seconds valid = std::chrono::hours(24 * 30);  // from now; negative if expired
};

// Writes FOLDER/ca.pem and ca.key, valid for ten years, unless FOLDER/ca.pem exists. Writes
// NODE.pem and NODE.key for each node, and replaces older ones. Keys are on P-256. A node's
// certificate has the names NODE (a DNS name) and spiffe://TRUST_DOMAIN/NODE, and is valid for both
// ends of a link. Each file appears completely or not at all; only its owner can read a key.
// Returns the paths of the files that were written.
Result<std::vector<std::string>> make_certificates(const CertificateWish& wish);

}  // namespace hat
