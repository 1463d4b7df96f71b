// SPDX-License-Identifier: Apache-2.0
// daemon/tls/certificate.h: reads the contents of an X.509 certificate, or of a list of revoked
// certificates (CRL), as plain values.
#pragma once

#include <openssl/x509.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hat {

struct CertificateFacts {
  std::string subject;             // in the form of RFC 2253, such as "CN=host-a"
  std::string issuer;              // in the same form as `subject`
  std::vector<std::string> names;  // from names_of()
  int64_t not_before = 0;          // in seconds since 1970
  int64_t not_after = 0;           // in seconds since 1970
  std::string serial;              // hexadecimal
  std::string fingerprint;         // SHA-256 of the whole certificate, hexadecimal
};

// A list of revoked certificates.
struct CrlFacts {
  std::string issuer;
  int64_t last_update = 0;  // in seconds since 1970
  int64_t next_update = 0;  // when the list expires, in seconds since 1970; kNever if it never does
  std::string fingerprint;  // SHA-256 of the whole list, hexadecimal

  static constexpr int64_t kNever = 253'402'300'799;  // the end of 9999, as in RFC 5280, 4.1.2.5
};

CertificateFacts facts_of(X509& certificate);
CrlFacts facts_of(X509_CRL& crl);

// Returns the names in the certificate that count as identities (config/identity.h): its
// well-formed DNS names and URIs, but not its common name.
std::vector<std::string> names_of(X509& certificate);

}  // namespace hat
