// SPDX-License-Identifier: Apache-2.0
// daemon/tls/certificate.h: what an X.509 certificate says, as plain values.
#pragma once

#include <openssl/x509.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hat {

struct CertificateFacts {
  std::string subject;             // "CN=host-a"; RFC 2253
  std::string issuer;              // the same form
  std::vector<std::string> names;  // names_of()
  int64_t not_before = 0;          // in seconds since 1970
  int64_t not_after = 0;
  std::string serial;       // hexadecimal
  std::string fingerprint;  // SHA-256 of the whole, hexadecimal
};

// A list of revoked certificates.
struct CrlFacts {
  std::string issuer;
  int64_t last_update = 0;  // in seconds since 1970, as the next:
  int64_t next_update = 0;  // then it is no longer good; kNever: it does not say
  std::string fingerprint;  // SHA-256, hexadecimal

  static constexpr int64_t kNever = 253'402'300'799;  // the end of 9999, as in RFC 5280, 4.1.2.5
};

CertificateFacts facts_of(X509& certificate);
CrlFacts facts_of(X509_CRL& crl);

// Its subject's alternative names that count (config/identity.h): whole DNS names and URIs. What
// the common name says does not.
std::vector<std::string> names_of(X509& certificate);

}  // namespace hat
