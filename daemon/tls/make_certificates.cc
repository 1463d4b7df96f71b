// SPDX-License-Identifier: Apache-2.0
#include "daemon/tls/make_certificates.h"
#include "base/descriptor.h"

#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/system_error.h"
#include "daemon/tls/openssl.h"

namespace hat {
namespace {

constexpr auto kAuthorityValid = std::chrono::hours(24 * 3650);
constexpr auto kClocksDiffer = std::chrono::hours(1);  // validity starts this long before now
constexpr size_t kNodeBytesMax = 255;
constexpr size_t kCommonNameBytesMax = 64;  // X.520's bound
constexpr size_t kSerialBytes = 16;

using OwnedExtension = Owned<X509_EXTENSION, X509_EXTENSION_free>;

std::unexpected<Error> openssl_failed(const std::string& what) {
  return fail(ErrorCode::kSystem, what + ": " + take_openssl_error());
}

struct Signer {
  X509* certificate;
  EVP_PKEY* key;
};

Result<void> extend(X509* certificate, const Signer& by, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, by.certificate, certificate, nullptr, nullptr, 0);
  const OwnedExtension extension(X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return openssl_failed("certificate extension " + value);
  }
  return {};
}

struct Text {
  std::string common_name;
  std::vector<std::pair<int, std::string>> extensions;
  std::chrono::seconds valid;
};

// Makes a certificate that `by` signs. If `by` has no certificate, the new one is self-signed with
// by.key.
Result<OwnedX509> make_certificate(const Text& text, EVP_PKEY* key, Signer by) {
  OwnedX509 made(X509_new());
  X509* certificate = made.get();
  if (certificate == nullptr) return openssl_failed("certificate");
  if (by.certificate == nullptr) by.certificate = certificate;
  X509_set_version(certificate, X509_VERSION_3);
  unsigned char serial[kSerialBytes];
  RAND_bytes(serial, sizeof serial);
  serial[0] = static_cast<unsigned char>((serial[0] & 0x7f) | 0x40);  // positive, 16 bytes long
  const Owned<BIGNUM, BN_free> number(BN_bin2bn(serial, sizeof serial, nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
  const auto since = -std::chrono::seconds(kClocksDiffer).count();
  X509_gmtime_adj(X509_getm_notBefore(certificate), since);
  X509_gmtime_adj(X509_getm_notAfter(certificate), text.valid.count());
  const auto* name = reinterpret_cast<const unsigned char*>(text.common_name.data());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, name,
                             static_cast<int>(text.common_name.size()), -1, 0);
  X509_set_issuer_name(certificate, X509_get_subject_name(by.certificate));
  X509_set_pubkey(certificate, key);
  for (const auto& [what, value] : text.extensions) {
    HAT_TRY_VOID(extend(certificate, by, what, value));
  }
  if (X509_sign(certificate, by.key, EVP_sha256()) == 0) return openssl_failed("signature");
  return made;
}

// Writes `text` to `path`, in place of an older file. The file appears completely or not at all.
Result<void> write_file(const std::string& path, mode_t mode, const OwnedBio& text) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  const std::string draft = path + ".new";
  const auto failed = [&](const std::string& what) {
    const int error = errno;
    unlink(draft.c_str());
    return fail_errno(what, error);
  };
  unlink(draft.c_str());
  Descriptor file(open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0) return failed(draft);
  const bool written =
      write(file.get(), bytes, static_cast<size_t>(size)) == size && fsync(file.get()) == 0;
  if (close(file.release()) != 0 || !written) return failed(draft);
  if (rename(draft.c_str(), path.c_str()) != 0) return failed(path);
  return {};
}

struct Pair {
  OwnedKey key;
  OwnedX509 certificate;
};

Result<void> write_pair(const std::string& stem, const Pair& pair) {
  const OwnedBio key(BIO_new(BIO_s_mem()));
  const OwnedBio certificate(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(key.get(), pair.key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1 ||
      PEM_write_bio_X509(certificate.get(), pair.certificate.get()) != 1) {
    return openssl_failed(stem);
  }
  HAT_TRY_VOID(write_file(stem + ".key", 0600, key));
  return write_file(stem + ".pem", 0644, certificate);
}

Result<Pair> read_pair(const std::string& stem) {
  const OwnedBio key(BIO_new_file((stem + ".key").c_str(), "r"));
  const OwnedBio certificate(BIO_new_file((stem + ".pem").c_str(), "r"));
  Pair pair;
  if (key) pair.key.reset(PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr));
  if (certificate) {
    pair.certificate.reset(PEM_read_bio_X509(certificate.get(), nullptr, nullptr, nullptr));
  }
  if (!pair.key || !pair.certificate) return openssl_failed(stem + ".pem and .key");
  return pair;
}

Result<Pair> make_pair(const Text& text, const Pair* signer) {
  Pair pair;
  pair.key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  if (!pair.key) return openssl_failed("cannot generate a P-256 key");
  const Signer by = signer == nullptr ? Signer{nullptr, pair.key.get()}
                                      : Signer{signer->certificate.get(), signer->key.get()};
  HAT_TRY(pair.certificate, make_certificate(text, pair.key.get(), by));
  return pair;
}

Result<Pair> the_authority(const std::string& stem, std::vector<std::string>& written) {
  if (std::filesystem::exists(stem + ".pem")) return read_pair(stem);
  const Text text{.common_name = "hatrpc CA for trying",
                  .extensions = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                 {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                 {NID_subject_key_identifier, "hash"}},
                  .valid = kAuthorityValid};
  HAT_TRY(Pair made, make_pair(text, nullptr));
  HAT_TRY_VOID(write_pair(stem, made));
  written.insert(written.end(), {stem + ".pem", stem + ".key"});
  return made;
}

// Returns true if `name` can be a file's name, a DNS name and the end of a URI.
bool is_node_name(const std::string& name) {
  return !name.empty() && name.size() <= kNodeBytesMax && name != "." && name != ".." &&
         std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '_' || c == '.' || c == '-';
         });
}

Text text_for(const std::string& node, const CertificateWish& wish) {
  const std::string names = "DNS:" + node + ",URI:spiffe://" + wish.trust_domain + "/" + node;
  return {.common_name = node.substr(0, kCommonNameBytesMax),
          .extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                         {NID_key_usage, "critical,digitalSignature"},
                         {NID_ext_key_usage, "serverAuth,clientAuth"},
                         {NID_subject_key_identifier, "hash"},
                         {NID_authority_key_identifier, "keyid"},
                         {NID_subject_alt_name, names}},
          .valid = wish.valid};
}

}  // namespace

Result<std::vector<std::string>> make_certificates(const CertificateWish& wish) {
  for (const std::string& node : wish.nodes) {
    if (is_node_name(node) && node != "ca") continue;
    return fail(ErrorCode::kInvalid,
                "'" + node +
                    "' is not a valid node name: expected letters, digits, '.', '_' and '-', " +
                    "and not 'ca'");
  }
  if (!is_node_name(wish.trust_domain)) {
    return fail(ErrorCode::kInvalid,
                "'" + wish.trust_domain +
                    "' is not a valid trust domain: expected a name such as prod.example");
  }
  std::error_code error;
  std::filesystem::create_directories(wish.folder, error);
  if (error) return fail_errno(wish.folder + "", error.value());
  ERR_clear_error();
  std::vector<std::string> written;
  HAT_TRY(const Pair authority, the_authority(wish.folder + "/ca", written));
  for (const std::string& node : wish.nodes) {
    const std::string stem = wish.folder + "/" + node;
    HAT_TRY(const Pair made, make_pair(text_for(node, wish), &authority));
    HAT_TRY_VOID(write_pair(stem, made));
    written.insert(written.end(), {stem + ".pem", stem + ".key"});
  }
  return written;
}

}  // namespace hat
