// SPDX-License-Identifier: Apache-2.0
// hintgen/emit_test.cc: tests the manifests that hintgen makes from hints in either spelling.
#include "hintgen/emit.h"

#include <gtest/gtest.h>

#include "hintgen/compile_text.h"

namespace hat::hintgen {
namespace {

constexpr const char* kNative = R"(service Calculator {
  hint: perf_goal=latency, concurrency=8;
  i64 add(1: i64 left, 2: i64 right)
  list<i64> sums(1: list<i64> n) [ hint: perf_goal=throughput; s_hint: payload_size=64KiB; ]
  oneway void log(1: string line)
}
)";
constexpr const char* kAnnotated = R"(service Calculator {
  i64 add(1: i64 left, 2: i64 right)
  list<i64> sums(1: list<i64> n)
      ( hat.perf_goal = "throughput", hat.server.payload_size = "64KiB" )
  oneway void log(1: string line)
} ( hat.perf_goal = "latency", hat.concurrency = "8" )
)";

Manifest manifest_of(const std::string& text) {
  const Compiled compiled = compile_text(text);
  EXPECT_EQ(compiled.messages(), "");
  return make_manifest(compiled.idl);
}

// Returns the manifest without source locations in the IDL.
Manifest without_origins(Manifest manifest) {
  for (ServiceSpec& service : manifest.services) {
    service.origin.clear();
    for (FunctionSpec& function : service.functions) function.origin.clear();
  }
  return manifest;
}

TEST(Emit, HoldsHintsOnewayAndOrigins) {
  const Manifest manifest = manifest_of(kNative);
  ASSERT_EQ(manifest.services.size(), 1u);
  const ServiceSpec& service = manifest.services[0];
  EXPECT_EQ(service.origin, "t.thrift:1:9");
  EXPECT_EQ(service.hints.both.perf_goal, PerfGoal::kLatency);
  EXPECT_EQ(service.hints.both.concurrency, Concurrency(8u));
  ASSERT_EQ(service.functions.size(), 3u);
  EXPECT_TRUE(service.functions[0].hints.empty());
  EXPECT_EQ(service.functions[1].hints.both.perf_goal, PerfGoal::kThroughput);
  EXPECT_EQ(service.functions[1].hints.server.payload_bytes, 65536u);
  EXPECT_TRUE(service.functions[2].oneway);
  EXPECT_EQ(service.functions[2].origin, "t.thrift:5:15");
}

TEST(Emit, MakesTheSameOfBothSpellings) {
  EXPECT_EQ(without_origins(manifest_of(kNative)), without_origins(manifest_of(kAnnotated)));
}

TEST(Emit, ReadsTheOlderKeys) {
  const Manifest manifest =
      manifest_of("service S {\n  hint: perf_pref=busy, proto=rfp;\n  void f()\n}\n");
  EXPECT_EQ(manifest.services[0].hints.both.polling, Polling::kBusy);
  EXPECT_EQ(manifest.services[0].hints.both.protocol, "rfp");
}

TEST(Emit, InheritsFunctionsAndHintsAcrossFiles) {
  const Compiled compiled =
      compile_files({{"t.thrift",
                      "include \"base.thrift\"\nservice S extends base.Base {\n"
                      "  hint: concurrency=4;\n  void own()\n}\n"},
                     {"base.thrift",
                      "service Base {\n  hint: perf_goal=res_util, concurrency=2;\n"
                      "  void ping() [ hint: timeout_ms=50; ]\n}\n"}},
                    "t.thrift");
  ASSERT_EQ(compiled.messages(), "");
  const Manifest manifest = make_manifest(compiled.idl);
  ASSERT_EQ(manifest.services.size(), 1u);
  const ServiceSpec& service = manifest.services[0];
  EXPECT_EQ(service.hints.both.perf_goal, PerfGoal::kResUtil) << "the parent's";
  EXPECT_EQ(service.hints.both.concurrency, Concurrency(4u)) << "its own";
  ASSERT_EQ(service.functions.size(), 2u);
  EXPECT_EQ(service.functions[0].name, "ping");
  EXPECT_EQ(service.functions[0].hints.both.timeout, std::chrono::milliseconds(50));
  EXPECT_EQ(service.functions[0].origin, "base.thrift:3:8");
}

// Formats fields as the manifest writes them: {1: string}.
std::string text_of(const FieldSpecs& fields, const NamedTypes& types) {
  std::string text;
  for (const FieldSpec& field : fields) {
    text += (text.empty() ? "" : ", ") + std::to_string(field.id) + ": " + to_string(field, types);
  }
  return "{" + text + "}";
}

TEST(Emit, WritesArgumentsWithTypedefsAndEnumsResolved) {
  const Compiled compiled = compile_text(R"(
typedef i64 Time
typedef list<Time> Times
enum Colour { RED = 1 }
struct Tree { 1: Colour colour, 2: list<Tree> children, 3: map<string, Times> times }
union Any { 1: Tree tree, 2: binary bytes }
service S {
  void none()
  void f(1: Times times, 3: set<Any> any, bool unnumbered)
}
)");
  const Manifest manifest = make_manifest(compiled.idl);
  const ServiceSpec& service = manifest.services[0];
  EXPECT_EQ(text_of(service.functions[0].arguments.value(), service.types), "{}");
  EXPECT_EQ(text_of(service.functions[1].arguments.value(), service.types),
            "{-1: bool, 1: list<i64>, 3: set<Any>}");
  ASSERT_EQ(service.types.size(), 2u);
  EXPECT_EQ(service.types[0].name, "Any");
  EXPECT_EQ(text_of(service.types[0].fields, service.types), "{1: Tree, 2: binary}");
  EXPECT_EQ(service.types[1].name, "Tree");
  EXPECT_EQ(text_of(service.types[1].fields, service.types),
            "{1: i32, 2: list<Tree>, 3: map<string,list<i64>>}");
}

TEST(Emit, NamesStructsOfIncludedFilesApart) {
  const Compiled compiled =
      compile_files({{"t.thrift",
                      "include \"a/x.thrift\"\ninclude \"b/base.thrift\"\nstruct uuid { 1: i8 a }\n"
                      "struct P { 1: i32 a }\n"
                      "service S extends base.B { void f(1: P own, 2: x.P other, 3: uuid odd) }\n"},
                     {"a/x.thrift", "include \"y/x.thrift\"\nstruct P { 1: x.P inner }\n"},
                     {"a/y/x.thrift", "struct P { 1: i64 a }\n"},
                     {"b/base.thrift", "struct P { 1: string a }\nservice B { void g(1: P p) }\n"}},
                    "t.thrift");
  ASSERT_EQ(compiled.messages(), "");
  const ServiceSpec service = make_manifest(compiled.idl).services[0];
  EXPECT_EQ(text_of(service.functions[0].arguments.value(), service.types), "{1: base.P}");
  EXPECT_EQ(text_of(service.functions[1].arguments.value(), service.types),
            "{1: P, 2: x.P, 3: uuid_}");
  Diagnostics diagnostics;
  const Manifest again =
      read_manifest(write_manifest(make_manifest(compiled.idl)), "m", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  EXPECT_EQ(again, make_manifest(compiled.idl));
  EXPECT_EQ(service.types.back().name, "x.P_");
}

// The manifest must say which types are unions, which fields are required, and which values an enum
// has. With these facts a daemon can refuse requests that a server may reject: with two fields in a
// union, without a required field of a struct, or with an unknown enum value.
TEST(Emit, WritesWhatServersDemandOfStructsUnionsAndEnums) {
  const Compiled compiled = compile_text(R"(
enum Colour { RED = 4, BLUE = -1, GREEN, AZURE = -1 }
typedef Colour Paint
struct Tree { 1: required Paint paint, 2: required list<Colour> all, 3: optional Colour other }
union Any { 1: Tree tree, 2: binary bytes, 3: Colour colour }
exception Bad { 1: required string why }
service S { void f(1: required Any any, 2: Colour colour, 3: Bad bad) }
)");
  const Manifest manifest = make_manifest(compiled.idl);
  const ServiceSpec& service = manifest.services[0];
  EXPECT_EQ(text_of(service.functions[0].arguments.value(), service.types),
            "{1: required Any, 2: i32, 3: Bad}");
  ASSERT_EQ(service.types.size(), 4u);
  EXPECT_EQ(service.types[0].kind, NamedType::Kind::kUnion);
  EXPECT_EQ(text_of(service.types[0].fields, service.types), "{1: Tree, 2: binary, 3: i32}");
  EXPECT_EQ(text_of(service.types[1].fields, service.types), "{1: required string}");
  EXPECT_EQ(text_of(service.types[2].fields, service.types),
            "{1: required Colour, 2: required list<i32>, 3: i32}");
  EXPECT_EQ(service.types[3].kind, NamedType::Kind::kEnum);
  EXPECT_EQ(service.types[3].values, (std::vector{-1, 0, 4}));
  Diagnostics diagnostics;
  EXPECT_EQ(read_manifest(write_manifest(manifest), "m", diagnostics), manifest);
  EXPECT_EQ(diagnostics.text(), "");
}

// The manifest leaves out a field of unknown type, so a daemon that restricts callers refuses a
// request with this field.
TEST(Emit, LeavesOutFieldsOfUnknownTypes) {
  const Compiled compiled =
      compile_files({{"t.thrift", "include \"i.thrift\"\nservice S { void f(1: i.P p) }\n"},
                     {"i.thrift", "struct P { 1: i32 known, 2: Missing other }\n"}},
                    "t.thrift");
  const ServiceSpec service = make_manifest(compiled.idl).services[0];
  ASSERT_EQ(service.types.size(), 1u);
  EXPECT_EQ(text_of(service.types[0].fields, service.types), "{1: i32}");
}

}  // namespace
}  // namespace hat::hintgen
