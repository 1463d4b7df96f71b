// SPDX-License-Identifier: Apache-2.0
// daemon/tls/fake_certificates.h: certificates for tests, made once in a temporary folder:
//
//   one/              ca, host-a, host-b; host-e, which has expired
//   two/              another ca, with a host-a and a host-b
//   three/            ca; between, an intermediate CA below it; host-a, issued by between, whose
//                     file also contains the certificate of between
//   crl.pem           a list of one/ca that revokes one/host-a
//   expired_crl.pem   a list of one/ca that revokes one/host-a, and has expired
//   root_crl.pem      a list of three/ca that revokes no certificate of three/
//   between_crl.pem   a list of three/between that revokes no certificate of three/
//   chain_crl.pem     the lists in root_crl.pem and between_crl.pem
#pragma once

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

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
    revoke("crl.pem", "one/ca", "one/host-a", std::chrono::hours(24));
    revoke("expired_crl.pem", "one/ca", "one/host-a", std::chrono::minutes(-1));
    make_chain();
  }
  ~FakeCertificates() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  const std::string& folder() const { return folder_; }
  // Returns a TLS configuration with the certificate and key of `node`, such as "one/host-a", and
  // the CA in the folder `authority`, such as "one".
  TlsConfig files(const std::string& node, const std::string& authority = "one") const {
    return {.certificate = folder_ + "/" + node + ".pem",
            .key = folder_ + "/" + node + ".key",
            .ca = folder_ + "/" + authority + "/ca.pem"};
  }
  // Returns files(node, authority), with the list of revoked certificates in the file `crl`.
  TlsConfig files_with(const std::string& crl, const std::string& node,
                       const std::string& authority = "one") const {
    TlsConfig config = files(node, authority);
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

  // Makes the folder three/ (a root CA, an intermediate CA and a host) and, beside this folder, the
  // lists of certificates that the two CAs have revoked. The root CA allows intermediate CAs; the
  // CAs of make_certificates() do not.
  void make_chain() const {
    std::filesystem::create_directories(folder_ + "/three");
    const Issued root = issue("CN=root", "CA:TRUE", nullptr);
    const Issued between = issue("CN=between", "CA:TRUE", &root);
    const Issued host = issue("CN=host-a", "CA:FALSE", &between);
    write("three/ca.pem", {root.certificate.get()});
    write("three/host-a.pem", {host.certificate.get(), between.certificate.get()});
    write_key("three/ca.key", root.key.get());
    write_key("three/between.key", between.key.get());
    write_key("three/host-a.key", host.key.get());
    write("three/between.pem", {between.certificate.get()});
    revoke("root_crl.pem", "three/ca", "one/host-a", std::chrono::hours(24));
    revoke("between_crl.pem", "three/between", "one/host-a", std::chrono::hours(24));
    std::ofstream(folder_ + "/chain_crl.pem")
        << std::ifstream(folder_ + "/root_crl.pem").rdbuf()
        << std::ifstream(folder_ + "/between_crl.pem").rdbuf();
  }
  struct Issued {
    OwnedKey key;
    OwnedX509 certificate;
  };
  static Issued issue(const std::string& name, const std::string& what, const Issued* by) {
    Issued made{OwnedKey(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")),
                OwnedX509(X509_new())};
    X509* certificate = made.certificate.get();
    const Issued& signer = by == nullptr ? made : *by;
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 7);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 24 * 3600);
    const std::string common_name = name.substr(3);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                               0);
    X509_set_issuer_name(certificate, X509_get_subject_name(signer.certificate.get()));
    X509_set_pubkey(certificate, made.key.get());
    for (const auto& [kind, text] : {std::pair(NID_basic_constraints, "critical," + what),
                                     std::pair(NID_subject_alt_name, "DNS:" + common_name)}) {
      X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, text.c_str());
      X509_add_ext(certificate, extension, -1);
      X509_EXTENSION_free(extension);
    }
    if (X509_sign(certificate, signer.key.get(), EVP_sha256()) == 0) {
      throw std::runtime_error("no certificate: " + take_openssl_error());
    }
    return made;
  }
  void write(const std::string& file, const std::vector<X509*>& all) const {
    const OwnedBio out(BIO_new_file((folder_ + "/" + file).c_str(), "w"));
    for (X509* one : all) PEM_write_bio_X509(out.get(), one);
  }
  void write_key(const std::string& file, EVP_PKEY* key) const {
    const OwnedBio out(BIO_new_file((folder_ + "/" + file).c_str(), "w"));
    PEM_write_bio_PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
    chmod((folder_ + "/" + file).c_str(), 0600);
  }

  template <class Handle>
  Handle read(const std::string& file,
              typename Handle::pointer (*read_pem)(BIO*, typename Handle::pointer*,
                                                   pem_password_cb*, void*)) const {
    const OwnedBio in(BIO_new_file((folder_ + "/" + file).c_str(), "r"));
    return Handle(in ? read_pem(in.get(), nullptr, nullptr, nullptr) : nullptr);
  }
  void revoke(const std::string& file, const std::string& authority, const std::string& node,
              std::chrono::seconds valid) const {
    const auto ca = read<OwnedX509>(authority + ".pem", PEM_read_bio_X509);
    const auto key = read<OwnedKey>(authority + ".key", PEM_read_bio_PrivateKey);
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

// Returns the certificates that all tests of a program share; makes them on the first call.
inline const FakeCertificates& fake_certificates() {
  static const FakeCertificates all;
  return all;
}

}  // namespace hat
