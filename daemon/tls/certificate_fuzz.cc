// SPDX-License-Identifier: Apache-2.0
// daemon/tls/certificate_fuzz.cc: reads arbitrary certificates and lists of revoked certificates.
// Verifies that each name that is read occurs literally in the input, and that all text is
// printable, so that it cannot control a terminal.
//
// Input: one byte, even for a certificate and odd for a list; then the certificate or list as DER.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/tls/certificate.h"
#include "daemon/tls/openssl.h"

namespace hat {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

void look_at_certificate(const unsigned char* der, size_t size) {
  const std::string_view whole(reinterpret_cast<const char*>(der), size);
  const Owned<X509, X509_free> certificate(d2i_X509(nullptr, &der, static_cast<long>(size)));
  ERR_clear_error();
  if (!certificate) return;
  const CertificateFacts facts = facts_of(*certificate);
  require(is_printable(facts.subject) && is_printable(facts.issuer));
  require(is_printable(facts.serial) && facts.fingerprint.size() == 64);
  for (const std::string& name : facts.names) {
    require(!name.empty() && is_printable(name) && !name.contains(' '));
    require(whole.contains(name));
  }
}

void look_at_list(const unsigned char* der, size_t size) {
  const Owned<X509_CRL, X509_CRL_free> list(d2i_X509_CRL(nullptr, &der, static_cast<long>(size)));
  ERR_clear_error();
  if (list) require(is_printable(facts_of(*list).issuer));
}

}  // namespace
}  // namespace hat

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto look = data[0] % 2 == 0 ? &hat::look_at_certificate : &hat::look_at_list;
  look(data + 1, size - 1);
  return 0;
}
