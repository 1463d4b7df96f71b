// SPDX-License-Identifier: Apache-2.0
#include "daemon/tls/tls_context.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hat {
namespace {

// The largest certificate chain of a peer, in bytes and in certificates. The limits bound the
// memory and work that an unauthenticated peer can cause.
constexpr long kChainBytesMax = 32 * 1024;
constexpr int kChainDepthMax = 8;

std::unexpected<Error> wrong(const std::string& what, const std::string& file) {
  return fail(ErrorCode::kInvalid, what + " " + file + ": " + take_openssl_error());
}

// Checks that all files can be read. An error names each file that cannot be read.
Result<void> readable(const TlsConfig& config) {
  std::string missing;
  const auto look_at = [&missing](const std::string& what, const std::string& file) {
    if (file.empty() || access(file.c_str(), R_OK) == 0) return;
    missing += (missing.empty() ? "" : "; ") + what + " " + file + ": " + std::strerror(errno);
  };
  look_at("certificate", config.certificate);
  look_at("key", config.key);
  look_at("ca", config.ca);
  look_at("crl", config.crl);
  if (!missing.empty()) return fail(ErrorCode::kInvalid, missing);
  return {};
}

// Makes OpenSSL reject a key with a passphrase: nobody can type a passphrase when a daemon starts.
int no_passphrase(char*, int, int, void*) { return -1; }

bool is_of_another_certificate(unsigned long error) {
  const int reason = ERR_GET_REASON(error);
  return ERR_GET_LIB(error) == ERR_LIB_X509 &&
         (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH);
}

OwnedContext make_context() {
  OwnedContext made(SSL_CTX_new(TLS_method()));
  if (!made) return made;
  SSL_CTX* context = made.get();
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_verify_depth(context, kChainDepthMax);
  SSL_CTX_set_max_cert_list(context, kChainBytesMax);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  return made;
}

std::vector<CertificateFacts> facts_in(X509_STORE* store) {
  std::vector<CertificateFacts> all;
  const STACK_OF(X509_OBJECT)* objects = X509_STORE_get0_objects(store);
  for (int i = 0; i < sk_X509_OBJECT_num(objects); ++i) {
    X509* certificate = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));
    if (certificate != nullptr) all.push_back(facts_of(*certificate));
  }
  return all;
}

std::vector<std::string> issuers_in(SSL_CTX* context) {
  std::vector<std::string> issuers = {facts_of(*SSL_CTX_get0_certificate(context)).issuer};
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(context, &chain);
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    issuers.push_back(facts_of(*sk_X509_value(chain, i)).issuer);
  }
  return issuers;
}

std::vector<CrlFacts> crls_in(X509_STORE* store) {
  std::vector<CrlFacts> all;
  const STACK_OF(X509_OBJECT)* objects = X509_STORE_get0_objects(store);
  for (int i = 0; i < sk_X509_OBJECT_num(objects); ++i) {
    X509_CRL* crl = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(objects, i));
    if (crl != nullptr) all.push_back(facts_of(*crl));
  }
  return all;
}

// Loads the lists of revoked certificates in `file`. From then on, `store` accepts a certificate
// only if a valid list of the certificate's issuer is loaded.
bool load_crls(X509_STORE* store, const std::string& file) {
  X509_LOOKUP* lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
  return lookup != nullptr && X509_load_crl_file(lookup, file.c_str(), X509_FILETYPE_PEM) > 0 &&
         X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) == 1;
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const TlsConfig& config) {
  HAT_TRY_VOID(readable(config));
  ERR_clear_error();
  std::shared_ptr<TlsContext> made(new TlsContext());
  made->context_ = make_context();
  SSL_CTX* context = made->context_.get();
  if (context == nullptr)
    return fail(ErrorCode::kInvalid,
                "OpenSSL cannot create a TLS context: " + take_openssl_error());
  if (SSL_CTX_use_certificate_chain_file(context, config.certificate.c_str()) != 1) {
    return wrong("certificate", config.certificate);
  }
  const bool taken =
      SSL_CTX_use_PrivateKey_file(context, config.key.c_str(), SSL_FILETYPE_PEM) == 1;
  if (!taken && !is_of_another_certificate(ERR_peek_error())) return wrong("key", config.key);
  if (!taken || SSL_CTX_check_private_key(context) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::kInvalid,
                "key " + config.key + " does not belong to certificate " + config.certificate);
  }
  if (SSL_CTX_load_verify_file(context, config.ca.c_str()) != 1) return wrong("ca", config.ca);
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  if (!config.crl.empty() && !load_crls(store, config.crl)) return wrong("crl", config.crl);
  made->certificate_ = facts_of(*SSL_CTX_get0_certificate(context));
  made->issuers_ = issuers_in(context);
  made->authorities_ = facts_in(store);
  made->crls_ = crls_in(store);
  return made;
}

static bool is_in(X509_CRL* crl, X509* certificate) {
  X509_REVOKED* entry = nullptr;
  return X509_NAME_cmp(X509_CRL_get_issuer(crl), X509_get_issuer_name(certificate)) == 0 &&
         X509_CRL_get0_by_cert(crl, &entry, certificate) == 1;
}

bool TlsContext::revokes(const SSL& connection) const {
  const STACK_OF(X509)* chain = SSL_get0_verified_chain(&connection);
  const STACK_OF(X509_OBJECT)* objects =
      X509_STORE_get0_objects(SSL_CTX_get_cert_store(context_.get()));
  for (int i = 0; i < sk_X509_OBJECT_num(objects); ++i) {
    X509_CRL* crl = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(objects, i));
    for (int k = 0; crl != nullptr && k < sk_X509_num(chain); ++k) {
      if (is_in(crl, sk_X509_value(chain, k))) return true;
    }
  }
  return false;
}

// Returns a warning for each CA without a list in `file`, and for each list that has expired or
// expires soon: a certificate chain is valid only if every CA in it has a valid list.
static std::vector<std::string> crl_warnings(const TlsContext& context, const std::string& file,
                                             int64_t unix_now) {
  std::vector<std::string> warnings;
  std::vector<std::string> without;
  const auto look_for = [&](const std::string& issuer, const std::string& means) {
    const auto& crls = context.crls();
    if (std::ranges::find(crls, issuer, &CrlFacts::issuer) != crls.end()) return;
    if (std::ranges::find(without, issuer) != without.end()) return;
    without.push_back(issuer);
    warnings.push_back("crl " + file + " has no list of " + issuer + ": " + means);
  };
  for (const CertificateFacts& authority : context.authorities()) {
    look_for(authority.subject, "no certificate of that CA is accepted");
  }
  for (const std::string& issuer : context.issuers()) {
    look_for(issuer, "a peer with the same lists will not accept this node's certificate");
  }
  for (const CrlFacts& crl : context.crls()) {
    const int64_t left = crl.next_update - unix_now;
    const std::string which = "crl " + file + ": the list of " + crl.issuer;
    if (left < 0) {
      warnings.push_back(which +
                         " has expired: no certificate of that CA is accepted until the list "
                         "is renewed");
    } else if (left < (crl.next_update - crl.last_update) / 5) {
      warnings.push_back(which +
                         " expires soon and has not been renewed: once it has expired, no "
                         "certificate of that CA is accepted");
    }
  }
  return warnings;
}

std::vector<std::string> tls_warnings(const TlsContext& context, const TlsConfig& config,
                                      int64_t unix_now) {
  std::vector<std::string> warnings;
  const CertificateFacts& own = context.certificate();
  if (own.not_after < unix_now) {
    warnings.push_back("certificate " + config.certificate +
                       " has expired: no peer will accept it");
  } else if (own.not_before > unix_now) {
    warnings.push_back("certificate " + config.certificate +
                       " is not valid yet: compare the hosts' clocks");
  }
  if (own.names.empty()) {
    warnings.push_back("certificate " + config.certificate +
                       " has no DNS name and no URI as subjectAltName: peers cannot identify "
                       "this node");
  }
  for (const CertificateFacts& authority : context.authorities()) {
    if (authority.not_after >= unix_now) continue;
    warnings.push_back("ca " + config.ca + ": " + authority.subject + " has expired");
  }
  if (!config.crl.empty()) {
    for (std::string& one : crl_warnings(context, config.crl, unix_now)) {
      warnings.push_back(std::move(one));
    }
  }
  struct stat info {};
  if (stat(config.key.c_str(), &info) == 0 && (info.st_mode & S_IROTH) != 0) {
    warnings.push_back("key " + config.key + " can be read by every user of this host");
  }
  return warnings;
}

}  // namespace hat
