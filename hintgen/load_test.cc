// SPDX-License-Identifier: Apache-2.0
// hintgen/load_test.cc: tests how files and their includes are loaded, and the printed form of
// every kind of error.
#include <gtest/gtest.h>

#include "hintgen/compile_text.h"

namespace hat::hintgen {
namespace {

struct LoadRow {
  const char* name;
  const char* text;
  const char* messages;  // all diagnostics, as printed
};
std::ostream& operator<<(std::ostream& out, const LoadRow& row) { return out << row.name; }

class LoadDiagnostic : public testing::TestWithParam<LoadRow> {};

TEST_P(LoadDiagnostic, IsShownWithACaret) {
  EXPECT_EQ(compile_text(GetParam().text).messages(), GetParam().messages);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LoadDiagnostic,
    testing::Values(
        LoadRow{
            "unknown_hint", "service S {\n  hint: perf_gaol=latency;\n}\n",
            "t.thrift:2:9: error: unknown hint 'perf_gaol' (did you mean 'perf_goal'?); expected "
            "one of perf_goal, concurrency, payload_size, polling, protocol, transport, plan, "
            "numa, "
            "priority, timeout_ms, idempotent\n"
            "  hint: perf_gaol=latency;\n"
            "        ^\n"},
        LoadRow{
            "wrong_value", "service S {\n  void f() [ c_hint: concurrency=many; ]\n}\n",
            "t.thrift:2:34: error: concurrency: 'many'; expected a number of callers, or under, "
            "full or over\n"
            "  void f() [ c_hint: concurrency=many; ]\n"
            "                                 ^\n"},
        LoadRow{
            "wrong_annotation", "service S {\n  void f() ( hat.polling = \"bussy\" )\n}\n",
            "t.thrift:2:28: error: polling: 'bussy' (did you mean 'busy'?); expected busy, event "
            "or adaptive\n"
            "  void f() ( hat.polling = \"bussy\" )\n"
            "                           ^\n"},
        LoadRow{"field_id_twice", "struct P { 1: i32 x, 1: i32 y }\n",
                "t.thrift:1:22: error: field id 1 is already used in line 1\n"
                "struct P { 1: i32 x, 1: i32 y }\n"
                "                     ^\n"},
        LoadRow{"unknown_type_and_another",
                "service S {\n  void f(1: binray b)\n  void g(1: strnig s)\n}\n",
                "t.thrift:2:13: error: unknown type 'binray' (did you mean 'binary'?)\n"
                "  void f(1: binray b)\n"
                "            ^\n"
                "t.thrift:3:13: error: unknown type 'strnig' (did you mean 'string'?)\n"
                "  void g(1: strnig s)\n"
                "            ^\n"}),
    [](const auto& row) { return row.param.name; });

TEST(Load, ReadsIncludesBesideTheFileAndThenInTheFolders) {
  const Compiled compiled =
      compile_files({{"a/main.thrift",
                      "include \"near.thrift\"\ninclude \"far.thrift\"\n"
                      "service S extends far.Base { near.Point p(1: far.Id id) }\n"},
                     {"a/near.thrift", "struct Point { 1: i32 x }\n"},
                     {"lib/far.thrift", "typedef i64 Id\nservice Base { void ping() }\n"}},
                    "a/main.thrift", {"lib"});
  EXPECT_EQ(compiled.messages(), "");
  EXPECT_EQ(compiled.idl.files.size(), 3u);
}

TEST(Load, NamesAnIncludeByItsFileWithoutTheLastExtension) {
  const std::map<std::string, std::string> shared = {{"lib/foo.idl", "struct P { 1: i32 x }\n"},
                                                     {"bare", "struct P { 1: i32 x }\n"},
                                                     {"a.b.thrift", "struct P { 1: i32 x }\n"}};
  const auto messages_of = [&](const std::string& text) {
    auto files = shared;
    files["t.thrift"] = text;
    return compile_files(files, "t.thrift").messages();
  };
  EXPECT_EQ(messages_of("include \"lib/foo.idl\"\nstruct S { 1: foo.P p }\n"), "");
  EXPECT_EQ(messages_of("include \"bare\"\nstruct S { 1: bare.P p }\n"), "");
  EXPECT_EQ(messages_of("include \"a.b.thrift\"\nstruct S { 1: a.b.P p }\n"), "");
  EXPECT_EQ(messages_of("include \"lib/foo.idl\"\nstruct S { 1: foo.idl.P p }\n"),
            "t.thrift:2:15: error: unknown type 'foo.idl.P'\n"
            "struct S { 1: foo.idl.P p }\n"
            "              ^\n");
}

TEST(Load, NamesTheCircleOfIncludes) {
  const Compiled compiled = compile_files({{"a.thrift", "include \"b.thrift\"\n"},
                                           {"b.thrift", "include \"c.thrift\"\n"},
                                           {"c.thrift", "include \"a.thrift\"\n"}},
                                          "a.thrift");
  EXPECT_TRUE(compiled.diagnostics.any_errors());
  EXPECT_NE(compiled.messages().find("circular"), std::string::npos) << compiled.messages();
}

TEST(Load, ReadsAFileOnceHoweverOftenItIsIncluded) {
  const Compiled compiled =
      compile_files({{"a.thrift", "include \"b.thrift\"\ninclude \"c.thrift\"\n"},
                     {"b.thrift", "include \"d.thrift\"\n"},
                     {"c.thrift", "include \"d.thrift\"\n"},
                     {"d.thrift", "typedef i32 Number\n"}},
                    "a.thrift");
  EXPECT_EQ(compiled.messages(), "");
  EXPECT_EQ(compiled.idl.files.size(), 4u);
}

// Of more than 50 errors (or warnings) hintgen shows the first 50, and then a text that there are
// more. For a diagnostic that it does not show, hintgen does not search for a similar name.
TEST(Load, ShowsTheFirstFiftyMistakesOfEachKind) {
  std::string errors, warnings;
  for (int i = 1; i <= 20000; ++i) {
    errors += "struct Name" + std::to_string(i) + " { 1: Mame" + std::to_string(i) + " x }\n";
    warnings += "struct Name" + std::to_string(i) + " { i32 x }\n";
  }
  const Compiled compiled = compile_text(errors + "struct Other { 1: i32 x, 1: i32 y }\n");
  ASSERT_EQ(compiled.diagnostics.all().size(), 51u);
  EXPECT_EQ(compiled.diagnostics.all().front().message,
            "unknown type 'Mame1' (did you mean 'Name1'?)");
  EXPECT_EQ(compiled.diagnostics.all().back().message,
            "too many errors; further ones of this file are not shown");

  const Compiled warned = compile_text(warnings + "struct Other { 1: i32 x, 1: i32 y }\n");
  ASSERT_EQ(warned.diagnostics.all().size(), 52u) << "warnings hide no error";
  EXPECT_EQ(count_mistakes(warned.diagnostics), "1 error, 51 warnings");
}

TEST(Load, LetsHintBeAName) {
  const Compiled compiled =
      compile_text("struct hint { 1: i32 c_hint }\nservice S { hint s_hint(1: hint hint) }\n");
  EXPECT_EQ(compiled.messages(), "");
}

}  // namespace
}  // namespace hat::hintgen
