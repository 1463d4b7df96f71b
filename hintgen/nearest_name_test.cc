// SPDX-License-Identifier: Apache-2.0
// hintgen/nearest_name_test.cc: tests which names hintgen proposes for a misspelt name.
#include "hintgen/nearest_name.h"

#include <gtest/gtest.h>

#include "hintgen/compile_text.h"

namespace hat::hintgen {
namespace {

constexpr const char* kShared = "typedef i64 Ident\nservice Store {}\nconst i32 LIMIT = 9\n";
constexpr const char* kOwn = R"(include "shared.thrift"
enum Colour { RED = 1, GREEN = 2 }
struct Point { 1: i32 left, 2: i32 right }
const i32 ORIGIN = 0
service Base {}
)";

struct NameRow {
  const char* name;
  const char* line;
  const char* diagnostic;
};
std::ostream& operator<<(std::ostream& out, const NameRow& row) { return out << row.name; }

class Misspelt : public testing::TestWithParam<NameRow> {};

TEST_P(Misspelt, NameDrawsTheNearestOfItsKind) {
  const Compiled compiled = compile_files(
      {{"t.thrift", std::string(kOwn) + GetParam().line + "\n"}, {"shared.thrift", kShared}},
      "t.thrift");
  ASSERT_EQ(compiled.diagnostics.all().size(), 1u) << compiled.messages();
  EXPECT_EQ(compiled.diagnostics.all()[0].message, GetParam().diagnostic);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, Misspelt,
    testing::Values(
        NameRow{"own_type", "typedef Piont P", "unknown type 'Piont' (did you mean 'Point'?)"},
        NameRow{"base_type", "typedef strng P", "unknown type 'strng' (did you mean 'string'?)"},
        NameRow{"included_type", "typedef shared.Idnet P",
                "unknown type 'shared.Idnet' (did you mean 'shared.Ident'?)"},
        NameRow{"name_of_the_include", "typedef shard.Ident P",
                "unknown type 'shard.Ident' (did you mean 'shared.Ident'?)"},
        NameRow{"constants_are_no_types", "typedef ORIGIM P", "unknown type 'ORIGIM'"},
        NameRow{"services_are_no_types", "typedef Bass P", "unknown type 'Bass'"},
        NameRow{"too_short_to_tell", "typedef ix P", "unknown type 'ix'"},
        NameRow{"service", "service S extends Bse {}",
                "unknown service 'Bse' (did you mean 'Base'?)"},
        NameRow{"included_service", "service S extends shared.Stroe {}",
                "unknown service 'shared.Stroe' (did you mean 'shared.Store'?)"},
        NameRow{"types_are_no_services", "service S extends Pointe {}", "unknown service 'Pointe'"},
        NameRow{"constant", "const i32 A = ORIGNI",
                "there is no constant or enum member named 'ORIGNI' (did you mean 'ORIGIN'?)"},
        NameRow{"included_constant", "const i32 A = shared.LIMT",
                "there is no constant or enum member named 'shared.LIMT' (did you mean "
                "'shared.LIMIT'?)"},
        NameRow{"member_as_a_number", "const i32 A = Colour.GREN",
                "there is no constant or enum member named 'Colour.GREN' (did you mean "
                "'Colour.GREEN'?)"},
        NameRow{"member", "const Colour A = Colour.GREN",
                "'Colour.GREN' is not a member of enum 'Colour' (did you mean 'Colour.GREEN'?)"},
        NameRow{"field", "const Point A = {\"lfet\": 1}",
                "'Point' has no field 'lfet' (did you mean 'left'?)"}),
    [](const auto& row) { return row.param.name; });

// hintgen compares only the first names of a file, so the time for one diagnostic is bounded.
TEST(NearestName, LooksAtTheFirstNamesOnly) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "struct Name" + std::to_string(i) + " {}\n";
  const Compiled compiled = compile_text(text + "typedef Mame5 T\n");
  ASSERT_EQ(compiled.diagnostics.all().size(), 1u);
  EXPECT_EQ(compiled.diagnostics.all()[0].message, "unknown type 'Mame5' (did you mean 'Name5'?)");
}

}  // namespace
}  // namespace hat::hintgen
