// SPDX-License-Identifier: Apache-2.0
#include "daemon/tls/make_certificates.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "daemon/tls/fake_certificates.h"

namespace hat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MakeCertificates : public testing::Test {
 protected:
  MakeCertificates() : folder_(fake_certificates().folder() + "/made") {}
  ~MakeCertificates() override { std::filesystem::remove_all(folder_); }

  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string folder_;
};

TEST_F(MakeCertificates, GivesEachNodeBothOfItsNames) {
  const auto context = fake_certificates().context("one/host-a");
  EXPECT_THAT(context->certificate().names, ElementsAre("host-a", "spiffe://hatrpc.test/host-a"));
  EXPECT_EQ(context->certificate().subject, "CN=host-a");
  ASSERT_EQ(context->authorities().size(), 1u);
  EXPECT_EQ(context->certificate().issuer, context->authorities()[0].subject);
}

TEST_F(MakeCertificates, KeepsTheAuthorityAndRenewsTheNodes) {
  const auto first = make_certificates({.folder = folder_, .nodes = {"host-a"}});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(*first, ElementsAre(folder_ + "/ca.pem", folder_ + "/ca.key", folder_ + "/host-a.pem",
                                  folder_ + "/host-a.key"));
  const std::string authority = text_of("ca.pem");
  const std::string node = text_of("host-a.pem");
  const auto second = make_certificates({.folder = folder_, .nodes = {"host-a"}});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_THAT(*second, ElementsAre(folder_ + "/host-a.pem", folder_ + "/host-a.key"));
  EXPECT_EQ(text_of("ca.pem"), authority);
  EXPECT_NE(text_of("host-a.pem"), node);
}

TEST_F(MakeCertificates, LetsOnlyTheOwnerReadAKey) {
  ASSERT_TRUE(make_certificates({.folder = folder_, .nodes = {"host-a"}}));
  for (const char* key : {"/ca.key", "/host-a.key"}) {
    struct stat info {};
    ASSERT_EQ(stat((folder_ + key).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << key;
  }
}

TEST_F(MakeCertificates, WritesNothingForANameThatIsNone) {
  for (const char* name : {"", "ca", "..", "a/b", "a,URI:spiffe://x/y", "a b"}) {
    const auto made = make_certificates({.folder = folder_, .nodes = {"host-a", name}});
    ASSERT_FALSE(made) << name;
    EXPECT_THAT(made.error().message, HasSubstr("is not a valid node name"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_));
  EXPECT_FALSE(make_certificates({.folder = folder_, .nodes = {"a"}, .trust_domain = "a/b"}));
}

}  // namespace
}  // namespace hat
