// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/security_checks_test.cc: tests doctor on nodes whose links do not authenticate
// their peers, or whose certificates expire soon.
#include "hatctl/doctor/fake_examined.h"

namespace hat::doctor {
namespace {

constexpr int64_t kNow = 1'800'000'000;
constexpr int64_t kHour = 3600;
constexpr int64_t kDay = 24 * kHour;
constexpr uid_t kServiceUser = 998;

TlsFile file_of(const std::string& key, mode_t mode, uid_t uid = kServiceUser) {
  const std::string path = "/etc/hatrpc/tls/" + key + ".pem";
  return {.key = key,
          .path = path,
          .way = {{"/", 0755, 0, 0}, {"/etc/hatrpc/tls", 0755, 0, 0}, {path, mode, uid, uid}}};
}

CertificateFacts good(const std::string& subject, int64_t since, int64_t until) {
  return {.subject = subject,
          .names = {"a", "spiffe://p/a"},
          .not_before = kNow + since,
          .not_after = kNow + until};
}

// Builds a node with TLS on which everything is in order. hatrpcd runs as its own user.
void tls_host(FakeTree& tree, Examined& examined) {
  tree.roce_host();
  LinkConfig& link = examined.file.node.link;
  link.tls.emplace();
  link.tls->certificate = "/etc/hatrpc/tls/certificate.pem";
  link.tls->key = "/etc/hatrpc/tls/key.pem";
  link.tls->ca = "/etc/hatrpc/tls/ca.pem";
  examined.tls.files = {file_of("certificate", 0644), file_of("key", 0600), file_of("ca", 0644)};
  examined.tls.certificate = good("CN=a", -30 * kDay, 60 * kDay);
  examined.tls.authorities = {good("CN=ca", -kDay, 3650 * kDay)};
  examined.unix_now = kNow;
}

// Sets hatrpcd's error about the TLS files, and removes the certificates, as if none could be read.
void refused(Examined& examined, const std::string& error) {
  examined.tls.error = error;
  examined.tls.certificate.reset();
  examined.tls.authorities.clear();
}

const std::vector<Row> kRowsOfLinks = {
    {"no_links",
     [](FakeTree& tree, Examined&) { tree.roce_host(); },
     {{kOk, "security", "this node has no links", ""}}},
    {"insecure_links",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.file.node.node = "a";
       examined.file.node.link.insecure = true;
       examined.file.node.peers.resize(1);
     },
     {{kWarn, "security", "links are insecure: peers do not authenticate",
       "hatctl certs make tls a"}}},
    {"all_well",
     tls_host,
     {{kOk, "security", "certificate: a, spiffe://p/a; valid for 60 d", ""},
      {kOk, "security", "ca: CN=ca; valid for 3650 d", ""}}},
    {"a_configuration_with_mistakes_says_so_itself",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.file.diagnostics.error({"/n.yaml", 3, 1}, "links need `tls`");
     },
     {{kFail, "configuration", "links need", "hatrpcd --check"}}},
};

const std::vector<Row> kRowsOfTlsFiles = {
    {"a_file_that_is_not_there",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.files[2] = {
           .key = "ca", .path = "/etc/ca.pem", .error = "No such file or directory"};
       refused(examined, "ca /etc/ca.pem: cannot be opened");
     },
     {{kFail, "security", "ca: /etc/ca.pem: No such file or directory", "ls -l /etc/ca.pem"}}},
    {"a_key_of_root",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.files[1] = file_of("key", 0600, 0);
     },
     {{kFail, "security", "key: /etc/hatrpc/tls/key.pem: hatrpcd may not read it",
       "chown hatrpcd /etc/hatrpc/tls/key.pem"}}},
    {"a_folder_of_root",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.files[0].way[1].mode = 0700;
     },
     {{kFail, "security",
       "certificate: /etc/hatrpc/tls/certificate.pem: hatrpcd may not enter its directory "
       "/etc/hatrpc/tls",
       "chmod a+x /etc/hatrpc/tls"}}},
    {"a_key_that_everybody_reads",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.files[1] = file_of("key", 0644);
     },
     {{kWarn, "security", "key: /etc/hatrpc/tls/key.pem can be read by every user", "chmod 400"}}},
    {"a_key_that_a_folder_keeps_from_others",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.files[1] = file_of("key", 0644);
       examined.tls.files[1].way[1] = {"/etc/hatrpc/tls", 0700, kServiceUser, kServiceUser};
     },
     {}},
    {"a_key_that_who_asks_may_not_read",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.files[1].hidden = true;
       refused(examined, "key /etc/hatrpc/tls/key.pem: Permission denied");
     },
     {{kWarn, "security", "key: /etc/hatrpc/tls/key.pem: not checked, because", "sudo hatctl"}}},
    {"a_key_of_another_certificate",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       refused(examined, "key k does not belong to certificate c");
     },
     {{kFail, "security", "key k does not belong to certificate c", "openssl pkey -noout -check"}}},
};

const std::vector<Row> kRowsOfTime = {
    {"an_expired_certificate",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.certificate = good("CN=a", -kDay, -2 * kHour);
     },
     {{kFail, "security", "CN=a: expired 2 h ago", "openssl x509 -noout -subject"}}},
    {"a_certificate_that_is_not_good_yet",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.certificate = good("CN=a", kHour, kDay);
     },
     {{kFail, "security", "CN=a: not valid yet", "date -u"}}},
    {"an_svid_in_its_second_half",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.certificate = good("", -40 * 60, 20 * 60);
     },
     {{kOk, "security", "valid for 20 min", ""}}},
    {"an_svid_that_was_not_renewed",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.certificate = good("", -50 * 60, 10 * 60);
     },
     {{kWarn, "security", "expires in 10 min, and was not renewed", "renew it"}}},
    {"a_ca_of_ten_years_in_its_last_month",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.authorities = {good("CN=ca", -3630 * kDay, 20 * kDay)};
     },
     {{kWarn, "security", "CN=ca: expires in 20 d", "renew it"}}},
    {"an_expired_ca_beside_the_next_one",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.authorities.push_back(good("CN=old", -3650 * kDay, -kDay));
     },
     {{kOk, "security", "ca: CN=ca; valid for 3650 d", ""}}},
    {"a_certificate_of_nobody",
     [](FakeTree& tree, Examined& examined) {
       tls_host(tree, examined);
       examined.tls.certificate->names.clear();
     },
     {{kFail, "security", "has no DNS name and no URI", "openssl x509"}}},
};

const std::vector<Row>& security_rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> gathered;
    for (const auto& some : {kRowsOfLinks, kRowsOfTlsFiles, kRowsOfTime}) {
      gathered.insert(gathered.end(), some.begin(), some.end());
    }
    return gathered;
  }();
  return all;
}

class SecurityChecks : public testing::TestWithParam<size_t> {};

TEST_P(SecurityChecks, SayWhatIsWrongAndWhatMendsIt) {
  expect_said_of(security_rows()[GetParam()]);
}

INSTANTIATE_TEST_SUITE_P(Nodes, SecurityChecks, testing::Range(size_t{0}, security_rows().size()),
                         [](const auto& row) {
                           return std::string(security_rows()[row.param].name);
                         });

TEST(TlsFiles, AreFollowedToWhereTheyLie) {
  FakeTree tree;
  tree.file("/secret/..data/tls.key", "key", 0640);
  tree.link("/etc/host.key", tree.root() + "/secret/..data/tls.key");
  TlsConfig config;
  config.certificate = config.ca = tree.root() + "/nowhere.pem";
  config.key = tree.root() + "/etc/host.key";
  const auto files = look_at(config);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].error, "No such file or directory");
  EXPECT_EQ(files[1].error, "");
  ASSERT_GE(files[1].way.size(), 3u);
  EXPECT_EQ(files[1].way.front().path, "/");
  EXPECT_THAT(files[1].way.back().path, testing::EndsWith("/secret/..data/tls.key"));
  EXPECT_EQ(files[1].way.back().mode, 0640u);
  EXPECT_FALSE(files[1].hidden);
}

}  // namespace
}  // namespace hat::doctor
