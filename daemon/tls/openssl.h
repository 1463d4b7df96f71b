// SPDX-License-Identifier: Apache-2.0
// daemon/tls/openssl.h: owning types for OpenSSL's handles, and OpenSSL's errors as text.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstring>
#include <string>

#include "base/owned.h"

namespace hat {

using OwnedBio = Owned<BIO, BIO_free>;
using OwnedContext = Owned<SSL_CTX, SSL_CTX_free>;
using OwnedCrl = Owned<X509_CRL, X509_CRL_free>;
using OwnedKey = Owned<EVP_PKEY, EVP_PKEY_free>;
using OwnedSsl = Owned<SSL, SSL_free>;
using OwnedX509 = Owned<X509, X509_free>;

// Returns the text of the first error in OpenSSL's error queue of this thread, and empties the
// queue. The text is never empty.
inline std::string take_openssl_error() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  if (error == 0) return "no reason given";
  if (ERR_SYSTEM_ERROR(error)) return std::strerror(ERR_GET_REASON(error));
  const char* reason = ERR_reason_error_string(error);
  return reason == nullptr ? "error " + std::to_string(error) : reason;
}

}  // namespace hat
