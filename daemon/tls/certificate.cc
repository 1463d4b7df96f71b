// SPDX-License-Identifier: Apache-2.0
#include "daemon/tls/certificate.h"

#include <openssl/bn.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>

#include "config/identity.h"
#include "daemon/tls/openssl.h"

namespace hat {
namespace {

using OwnedNames = Owned<GENERAL_NAMES, GENERAL_NAMES_free>;
using OwnedNumber = Owned<BIGNUM, BN_free>;

std::string text_of(const X509_NAME* name) {
  const OwnedBio out(BIO_new(BIO_s_mem()));
  if (!out || X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253) < 0) return "";
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

int64_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

std::string hex_of(const unsigned char* bytes, size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

std::string serial_of(const X509& certificate) {
  const OwnedNumber number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(&certificate), nullptr));
  if (!number) return "";
  std::vector<unsigned char> bytes(static_cast<size_t>(BN_num_bytes(number.get())));
  BN_bn2bin(number.get(), bytes.data());
  return hex_of(bytes.data(), bytes.size());
}

}  // namespace

std::vector<std::string> names_of(X509& certificate) {
  std::vector<std::string> names;
  const OwnedNames all(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; all && i < sk_GENERAL_NAME_num(all.get()); ++i) {
    int type = 0;
    const auto* value = static_cast<const ASN1_IA5STRING*>(
        GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(all.get(), i), &type));
    if (type != GEN_DNS && type != GEN_URI) continue;
    std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                     static_cast<size_t>(ASN1_STRING_length(value)));
    if (type == GEN_DNS ? is_dns_name(text) : is_uri(text)) names.push_back(std::move(text));
  }
  return names;
}

CrlFacts facts_of(X509_CRL& crl) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int digest_bytes = 0;
  X509_CRL_digest(&crl, EVP_sha256(), digest.data(), &digest_bytes);
  const ASN1_TIME* next = X509_CRL_get0_nextUpdate(&crl);
  return {.issuer = text_of(X509_CRL_get_issuer(&crl)),
          .last_update = seconds_of(X509_CRL_get0_lastUpdate(&crl)),
          .next_update = next == nullptr ? CrlFacts::kNever : seconds_of(next),
          .fingerprint = hex_of(digest.data(), digest_bytes)};
}

CertificateFacts facts_of(X509& certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int digest_bytes = 0;
  X509_digest(&certificate, EVP_sha256(), digest.data(), &digest_bytes);
  return {.subject = text_of(X509_get_subject_name(&certificate)),
          .issuer = text_of(X509_get_issuer_name(&certificate)),
          .names = names_of(certificate),
          .not_before = seconds_of(X509_get0_notBefore(&certificate)),
          .not_after = seconds_of(X509_get0_notAfter(&certificate)),
          .serial = serial_of(certificate),
          .fingerprint = hex_of(digest.data(), digest_bytes)};
}

}  // namespace hat
