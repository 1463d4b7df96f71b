// SPDX-License-Identifier: Apache-2.0
// daemon/tls/fake_certificates.h: certificates for tests, made once in a temporary folder.
//
//   one/   ca, host-a, host-b; host-e, which has expired
//   two/   another ca, with a host-a and a host-b
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "daemon/tls/make_certificates.h"
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

  std::string folder_;
};

// One for all tests of a program.
inline const FakeCertificates& fake_certificates() {
  static const FakeCertificates all;
  return all;
}

}  // namespace hat
