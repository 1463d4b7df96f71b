// SPDX-License-Identifier: Apache-2.0
#include "base/address.h"

#include <gmock/gmock.h>

namespace hat {
namespace {

TEST(Address, ReadsWhatItWrites) {
  for (const char* text : {"tcp:127.0.0.1:9090", "tcp:[::1]:0", "tcp:kv.example:65535",
                           "unix:/run/hatrpcd/kv.sock", "shm:/run/hatrpcd/kv.ring"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << address.error().message;
    EXPECT_EQ(to_string(*address), text);
  }
}

TEST(Address, SaysWhatIsWrong) {
  struct Row {
    const char* text;
    const char* complaint;
  };
  const std::string long_path = "unix:/" + std::string(200, 'x');
  for (const auto& [text, complaint] : {
           Row{"127.0.0.1:9090", "is not an address"},
           Row{"tcp:localhost", "has no port"},
           Row{"tcp::80", "has no host"},
           Row{"tcp:::1:80", "needs brackets"},
           Row{"tcp:h:65536", "not a number from 0 to 65535"},
           Row{"tcp:h:80x", "not a number from 0 to 65535"},
           Row{"tcp:h:", "not a number from 0 to 65535"},
           Row{"unix:relative", "has no absolute path"},
           Row{long_path.c_str(), "over 107 bytes"},
       }) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_THAT(address.error().message, testing::HasSubstr(complaint)) << text;
  }
}

}  // namespace
}  // namespace hat
