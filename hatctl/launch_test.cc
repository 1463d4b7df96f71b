// SPDX-License-Identifier: Apache-2.0
#include "hatctl/launch.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hat::hatctl {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json endpoint(const char* listen, const json& ring) { return {{"listen", listen}, {"ring", ring}}; }
json served(const char* upstream, const json& ring) {
  return {{"upstream", upstream}, {"ring", ring}};
}

TEST(RingVariables, ListTheAddressesThatHaveRings) {
  const RingVariables variables =
      ring_variables({{"endpoints",
                       {endpoint("tcp:127.0.0.1:1", "/a"), endpoint("shm:/a", nullptr),
                        endpoint("tcp:0.0.0.0:2", "/b"), endpoint("tcp:[::1]:3", "/c"),
                        endpoint("tcp:10.0.0.1:4", nullptr)}},
                      {"serves", {served("tcp:[::]:5", "/d"), served("unix:/s", nullptr)}}});
  EXPECT_EQ(variables.connect, "127.0.0.1:1=/a,127.0.0.1:2=/b,[::1]:3=/c");
  EXPECT_EQ(variables.listen, "127.0.0.1:5=/d,[::1]:5=/d");
}

TEST(RingVariables, NameHostsByTheirNumbers) {
  const RingVariables variables = ring_variables(
      {{"endpoints", {endpoint("tcp:localhost:1", "/a")}}, {"serves", json::array()}});
  EXPECT_THAT(variables.connect, HasSubstr("127.0.0.1:1=/a"));
  EXPECT_THAT(variables.connect, testing::Not(HasSubstr("localhost")));
  EXPECT_EQ(variables.listen, "");
}

TEST(RingVariables, DemandTheFormOfThisVersion) {
  EXPECT_THROW(ring_variables({{"endpoints", {{{"listen", "tcp:h:1"}}}}}), json::exception);
}

TEST(FindLibrary, TakesTheNamedFileIfLdPreloadCanNameIt) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("hat_launch_test_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  for (const char* name : {"library.so", "with space.so"}) std::ofstream(folder / name) << "x";
  EXPECT_EQ(find_library(folder / "library.so").value(), (folder / "library.so").string());
  EXPECT_THAT(find_library(folder / "with space.so").error().message, HasSubstr("a space"));
  EXPECT_THAT(find_library(folder / "none.so").error().message, HasSubstr("libhatrpc-client"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hat::hatctl
