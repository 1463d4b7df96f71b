// SPDX-License-Identifier: Apache-2.0
#include "daemon/tls/tls_context.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <ctime>
#include <fstream>

#include "daemon/tls/fake_certificates.h"

namespace hat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TlsContext, NamesTheFileThatIsWrong) {
  const FakeCertificates& made = fake_certificates();
  const std::string no_pem = made.folder() + "/no.pem";
  std::ofstream(no_pem) << "this is no certificate\n";
  const TlsConfig good = made.files("one/host-a");
  TlsConfig missing = good, text = good, other_key = good, no_key = good, no_ca = good,
            no_crl = good, ca_as_crl = good, none = good;
  missing.certificate = made.folder() + "/none.pem";
  text.certificate = no_pem;
  other_key.key = made.files("one/host-b").key;
  no_key.key = no_pem;
  no_ca.ca = no_pem;
  no_crl.crl = made.folder() + "/none.pem";
  ca_as_crl.crl = good.ca;
  none.certificate = none.key = none.ca = missing.certificate;
  const struct {
    TlsConfig config;
    std::string message;
  } rows[] = {{missing, "certificate " + missing.certificate + ": No such file"},
              {text, "certificate " + no_pem + ": "},
              {other_key, "does not belong to certificate " + good.certificate},
              {no_key, "key " + no_pem + ": "},
              {no_ca, "ca " + no_pem + ": "},
              {no_crl, "crl " + no_crl.crl + ": No such file"},
              {ca_as_crl, "crl " + good.ca + ": "},
              {none, "No such file or directory; ca " + none.ca + ": No such file"}};
  ASSERT_TRUE(TlsContext::load(good));
  for (const auto& row : rows) {
    const auto loaded = TlsContext::load(row.config);
    ASSERT_FALSE(loaded) << row.message;
    EXPECT_THAT(loaded.error().message, HasSubstr(row.message));
  }
}

TEST(TlsContext, KnowsUntilWhenACertificateIsGood) {
  const auto context = fake_certificates().context("one/host-a");
  const int64_t now = std::time(nullptr);
  EXPECT_GT(context->certificate().not_after, now + 22 * 3600);
  EXPECT_LE(context->certificate().not_after, now + 24 * 3600);
  EXPECT_LT(context->certificate().not_before, now);
  EXPECT_EQ(context->certificate().fingerprint.size(), 64u);
  EXPECT_EQ(context->certificate().serial.size(), 32u);
}

TEST(TlsContext, WarnsOfWhatNobodyWouldTake) {
  const FakeCertificates& made = fake_certificates();
  const int64_t now = std::time(nullptr);
  const TlsConfig good = made.files("one/host-a");
  const auto context = made.context("one/host-a");
  EXPECT_THAT(tls_warnings(*context, good, now), IsEmpty());
  EXPECT_THAT(tls_warnings(*context, good, now - 7 * 3600),
              ElementsAre(HasSubstr("is not valid yet")));
  EXPECT_THAT(tls_warnings(*context, good, now + 25 * 3600),
              ElementsAre(HasSubstr("has expired: no peer will accept it")));
  EXPECT_THAT(tls_warnings(*made.context("one/host-e"), made.files("one/host-e"), now),
              ElementsAre(HasSubstr("has expired")));
}

TEST(TlsContext, WarnsOfListsOfRevokedCertificatesThatNobodyIsGoodBy) {
  const FakeCertificates& made = fake_certificates();
  const int64_t now = std::time(nullptr);
  const TlsConfig good = made.files_with("crl.pem", "one/host-b");
  EXPECT_THAT(tls_warnings(**TlsContext::load(good), good, now), IsEmpty());
  const TlsConfig expired = made.files_with("expired_crl.pem", "one/host-b");
  EXPECT_THAT(tls_warnings(**TlsContext::load(expired), expired, now),
              ElementsAre(HasSubstr("the list of CN=hatrpc CA for trying has expired")));
  EXPECT_THAT(tls_warnings(**TlsContext::load(good), good, now + 22 * 3600),
              ElementsAre(HasSubstr("expires soon and has not been renewed")));
  const TlsConfig of_another = made.files_with("chain_crl.pem", "one/host-b");
  EXPECT_THAT(tls_warnings(**TlsContext::load(of_another), of_another, now),
              ElementsAre(HasSubstr("has no list of CN=hatrpc CA for trying: no certificate of")));
  const TlsConfig root_alone = made.files_with("root_crl.pem", "three/host-a", "three");
  EXPECT_THAT(tls_warnings(**TlsContext::load(root_alone), root_alone, now),
              ElementsAre(HasSubstr("has no list of CN=between: a peer with the same lists will")));
  const TlsConfig chain = made.files_with("chain_crl.pem", "three/host-a", "three");
  EXPECT_THAT(tls_warnings(**TlsContext::load(chain), chain, now), IsEmpty());
}

TEST(TlsContext, WarnsOfAKeyThatAllCanRead) {
  const FakeCertificates& made = fake_certificates();
  const TlsConfig config = made.files("two/host-b", "two");
  ASSERT_EQ(chmod(config.key.c_str(), 0644), 0);
  EXPECT_THAT(tls_warnings(*made.context("two/host-b", "two"), config, std::time(nullptr)),
              ElementsAre(HasSubstr("can be read by every user")));
  ASSERT_EQ(chmod(config.key.c_str(), 0600), 0);
}

}  // namespace
}  // namespace hat
