// SPDX-License-Identifier: Apache-2.0
// daemon/tls/fake_certificates.h: certificates for tests, made once in a temporary folder.
//
//   one/   ca, host-a, host-b; host-e, which has expired
//   two/   another ca, with a host-a and a host-b
//   crl.pem, expired_crl.pem   lists of one/ca, of which each has revoked host-a; one has expired
#pragma once

#include <openssl/pem.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "daemon/tls/make_certificates.h"
#include "daemon/tls/openssl.h"
#include "daemon/tls/tls_context.h"

namespace hat {

class FakeCertificates {
 public:
  FakeCertificates() {
    char folder[] = "/tmp/hat_tls_XXXXXX";
    if (mkdtemp(folder) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = folder;
    make("one", {"host-a", "host-b"}, std::chrono::hours(24));
    make("one", {"host-e"}, std::chrono::minutes(-1));
    make("two", {"host-a", "host-b"}, std::chrono::hours(24));
    revoke("crl.pem", "one/host-a", std::chrono::hours(24));
    revoke("expired_crl.pem", "one/host-a", std::chrono::minutes(-1));
  }
  ~FakeCertificates() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  const std::string& folder() const { return folder_; }
  // `node` such as "one/host-a", `authority` such as "one".
  TlsConfig files(const std::string& node, const std::string& authority = "one") const {
    return {.certificate = folder_ + "/" + node + ".pem",
            .key = folder_ + "/" + node + ".key",
            .ca = folder_ + "/" + authority + "/ca.pem"};
  }
  // With a list of revoked certificates.
  TlsConfig files_with(const std::string& crl, const std::string& node) const {
    TlsConfig config = files(node);
    config.crl = folder_ + "/" + crl;
    return config;
  }
  std::shared_ptr<const TlsContext> context(const std::string& node,
                                            const std::string& authority = "one") const {
    auto made = TlsContext::load(files(node, authority));
    if (!made) throw std::runtime_error(made.error().message);
    return *made;
  }

 private:
  void make(const std::string& folder, const std::vector<std::string>& nodes,
            std::chrono::seconds valid) const {
    const auto made =
        make_certificates({.folder = folder_ + "/" + folder, .nodes = nodes, .valid = valid});
    if (!made) throw std::runtime_error(made.error().message);
  }

  template <class Handle>
  Handle read(const std::string& file,
              typename Handle::pointer (*read_pem)(BIO*, typename Handle::pointer*,
                                                   pem_password_cb*, void*)) const {
    const OwnedBio in(BIO_new_file((folder_ + "/" + file).c_str(), "r"));
    return Handle(in ? read_pem(in.get(), nullptr, nullptr, nullptr) : nullptr);
  }
  void revoke(const std::string& file, const std::string& node, std::chrono::seconds valid) const {
    const auto ca = read<OwnedX509>("one/ca.pem", PEM_read_bio_X509);
    const auto key = read<OwnedKey>("one/ca.key", PEM_read_bio_PrivateKey);
    const auto revoked = read<OwnedX509>(node + ".pem", PEM_read_bio_X509);
    const OwnedCrl crl(X509_CRL_new());
    X509_CRL_set_version(crl.get(), X509_CRL_VERSION_2);
    X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(ca.get()));
    const Owned<ASN1_TIME, ASN1_TIME_free> since(X509_gmtime_adj(nullptr, -3600));
    const Owned<ASN1_TIME, ASN1_TIME_free> until(X509_gmtime_adj(nullptr, valid.count()));
    X509_CRL_set1_lastUpdate(crl.get(), since.get());
    X509_CRL_set1_nextUpdate(crl.get(), until.get());
    X509_REVOKED* entry = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(revoked.get()));
    X509_REVOKED_set_revocationDate(entry, since.get());
    X509_CRL_add0_revoked(crl.get(), entry);
    if (X509_CRL_sign(crl.get(), key.get(), EVP_sha256()) == 0) {
      throw std::runtime_error("no CRL: " + take_openssl_error());
    }
    const OwnedBio out(BIO_new_file((folder_ + "/" + file).c_str(), "w"));
    PEM_write_bio_X509_CRL(out.get(), crl.get());
  }

  std::string folder_;
};

// One for all tests of a program.
inline const FakeCertificates& fake_certificates() {
  static const FakeCertificates all;
  return all;
}

}  // namespace hat
