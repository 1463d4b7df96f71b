// SPDX-License-Identifier: Apache-2.0
// daemon/tls/tls_context.h: the files that a handshake needs (a certificate, its key, the CA and
// lists of revoked certificates), read once and never changed. If the files change, the daemon
// loads another context. Existing links stay up, unless the new context revokes the other side's
// certificate.
//
// Only TLS 1.3, and both sides must have a certificate. Sessions are never resumed: every handshake
// verifies the certificates again, so that a peer cannot return with the rights that an earlier
// context gave.
//
// Thread   any, also several at once: a context never changes.
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
  // Loads the files of `config`. An error names the file and says what is wrong with it.
  static Result<std::shared_ptr<const TlsContext>> load(const TlsConfig& config);

  // Returns the state of a new connection, or null if memory is exhausted.
  OwnedSsl new_connection() const { return OwnedSsl(SSL_new(context_.get())); }

  const CertificateFacts& certificate() const { return certificate_; }  // this node's own
  // Returns the issuers of this node's certificate and of the intermediate CAs in the same file.
  const std::vector<std::string>& issuers() const { return issuers_; }
  const std::vector<CertificateFacts>& authorities() const { return authorities_; }  // in `ca`
  const std::vector<CrlFacts>& crls() const { return crls_; }                        // in `crl`
  // Returns true if a list in `crl` contains a certificate of the chain that the handshake of
  // `connection` verified. `connection` may belong to another context.
  bool revokes(const SSL& connection) const;

 private:
  TlsContext() = default;

  OwnedContext context_;
  CertificateFacts certificate_;
  std::vector<std::string> issuers_;
  std::vector<CertificateFacts> authorities_;
  std::vector<CrlFacts> crls_;
};

// Returns a warning for each of these: this node's certificate has expired, is not valid yet, or
// has no name that a peer can check; a CA has expired; a list of revoked certificates has expired,
// or less than a fifth of its time is left; `crl` is set but lacks the list of a CA; every user of
// this host can read the key. `unix_now` is in seconds.
std::vector<std::string> tls_warnings(const TlsContext& context, const TlsConfig& config,
                                      int64_t unix_now);

}  // namespace hat
