// SPDX-License-Identifier: Apache-2.0
// daemon/tls/tls_context.h: the files that a handshake needs: a certificate, its key, the CA, and
// lists of revoked certificates. A context reads the files once and never changes. If the files
// change, the daemon loads another context. Existing links stay up, unless the new context revokes
// the peer's certificate.
//
// A context allows only TLS 1.3, and requires certificates from both sides. It never resumes TLS
// sessions: each handshake verifies the certificates again, so that a peer cannot keep rights that
// an earlier context gave.
//
// Thread   Any thread, also several at once: a context never changes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/node.h"
#include "daemon/tls/certificate.h"
#include "daemon/tls/openssl.h"

namespace hat {

class TlsContext {
 public:
  // Loads the files that `config` names. An error names the file and says what is wrong with it.
  static Result<std::shared_ptr<const TlsContext>> load(const TlsConfig& config);

  // Returns the OpenSSL state of a new connection; null if memory is exhausted.
  OwnedSsl new_connection() const { return OwnedSsl(SSL_new(context_.get())); }

  const CertificateFacts& certificate() const { return certificate_; }  // this node's certificate
  // Returns the issuers of this node's certificate and of the intermediate CAs in the certificate's
  // file.
  const std::vector<std::string>& issuers() const { return issuers_; }
  // Returns the CAs in the file `ca`, and the lists of revoked certificates in the file `crl`.
  const std::vector<CertificateFacts>& authorities() const { return authorities_; }
  const std::vector<CrlFacts>& crls() const { return crls_; }
  // Returns true if a list in `crl` revokes a certificate of the chain that was verified in the
  // handshake of `connection`. `connection` may have been made with another context.
  bool revokes(const SSL& connection) const;

 private:
  TlsContext() = default;

  OwnedContext context_;
  CertificateFacts certificate_;
  std::vector<std::string> issuers_;
  std::vector<CertificateFacts> authorities_;
  std::vector<CrlFacts> crls_;
};

// Returns warnings, one for each of these problems:
//   - this node's certificate has expired, is not valid yet, or has no name that a peer can check
//   - a CA has expired
//   - a list of revoked certificates has expired, or less than a fifth of its validity is left
//   - `crl` is set but has no list of a CA
//   - every user of this host can read the key
// `unix_now` is in seconds since 1970.
std::vector<std::string> tls_warnings(const TlsContext& context, const TlsConfig& config,
                                      int64_t unix_now);

}  // namespace hat
