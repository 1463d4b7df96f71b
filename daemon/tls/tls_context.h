// SPDX-License-Identifier: Apache-2.0
// daemon/tls/tls_context.h: what handshakes are made with: a certificate, its key and the CA, read
// from their files once and never changed. A change of the files makes another context; links that
// exist keep what they were made with, unless it revokes the other side's certificate.
//
// TLS 1.3 alone, both sides with a certificate. No session is resumed: every handshake proves the
// certificates anew, so that nobody comes back on what an earlier context allowed.
//
// Thread   any, at once: nothing in it changes.
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
  // Errors name the file, and say what is wrong with it.
  static Result<std::shared_ptr<const TlsContext>> load(const TlsConfig& config);

  // A connection's state; null where memory is short.
  OwnedSsl new_connection() const { return OwnedSsl(SSL_new(context_.get())); }

  const CertificateFacts& certificate() const { return certificate_; }  // this node's own
  // Who has issued it, and the intermediate CAs that its file has beside it.
  const std::vector<std::string>& issuers() const { return issuers_; }
  const std::vector<CertificateFacts>& authorities() const { return authorities_; }  // of `ca`
  const std::vector<CrlFacts>& crls() const { return crls_; }                        // of `crl`
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

// What deserves a warning: a certificate, a CA or a list of revoked ones that has expired
// (`unix_now` in seconds), a list that was not renewed though a fifth of its time is left, a CA
// without a list where others have one, names that nobody can ask for, a key that others on this
// host can read.
std::vector<std::string> tls_warnings(const TlsContext& context, const TlsConfig& config,
                                      int64_t unix_now);

}  // namespace hat
