// SPDX-License-Identifier: Apache-2.0
// daemon/tls/make_certificates.h: certificates for trying: a CA of its own, and one for each node.
// Not for production: the CA's key lies beside what it signs. docs/security.md has the real ways.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace hat {

struct CertificateWish {
  std::string folder;                        // made where it is not there
  std::vector<std::string> nodes;            // each of [A-Za-z0-9_.-], 1 to 255 bytes
  std::string trust_domain = "hatrpc.test";  // of the nodes' SPIFFE ids
  std::chrono::seconds valid = std::chrono::hours(24 * 30);  // from now; below 0: expired already
};

// Writes FOLDER/ca.pem and ca.key where there are none yet (they are good for ten years), and for
// each node NODE.pem and NODE.key, in the place of older ones: a key is on P-256, the certificate
// names NODE as a DNS name and spiffe://TRUST_DOMAIN/NODE, for both ends of a link. Each file is
// there whole or not at all; keys can be read by their owner alone. Returns the files written.
Result<std::vector<std::string>> make_certificates(const CertificateWish& wish);

}  // namespace hat
