// SPDX-License-Identifier: Apache-2.0
#include "config/manifest.h"

#include <gtest/gtest.h>

#include <fstream>

namespace hat {
namespace {

struct ManifestRow {
  const char* name;
  const char* text;
  const char* diagnostics;  // all diagnostics, one per line
};
std::ostream& operator<<(std::ostream& out, const ManifestRow& row) { return out << row.name; }

class ManifestDiagnostic : public testing::TestWithParam<ManifestRow> {};

TEST_P(ManifestDiagnostic, IsNamedWithItsPlace) {
  Diagnostics diagnostics;
  read_manifest(GetParam().text, "m.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(), GetParam().diagnostics);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ManifestDiagnostic,
    testing::Values(
        ManifestRow{
            "unknown_key", "hatrpc_manifest: 1\nservice: {}\nservices: {}\n",
            "m.yaml:2:1: error: unknown key 'service' in manifest (did you mean 'services'?); "
            "expected one of hatrpc_manifest, source, services\n"},
        ManifestRow{
            "unknown_hint", "hatrpc_manifest: 1\nservices: {A: {hint: {perf_gaol: latency}}}\n",
            "m.yaml:2:23: error: unknown hint 'perf_gaol' (did you mean 'perf_goal'?); expected "
            "one of perf_goal, concurrency, payload_size, polling, protocol, transport, plan, "
            "numa, "
            "priority, timeout_ms, idempotent\n"},
        ManifestRow{
            "wrong_word", "hatrpc_manifest: 1\nservices: {A: {s_hint: {polling: bussy}}}\n",
            "m.yaml:2:34: error: polling: 'bussy' (did you mean 'busy'?); expected busy, event or "
            "adaptive\n"},
        ManifestRow{"wrong_unit",
                    "hatrpc_manifest: 1\nservices: {A: {hint: {payload_size: 12XB}}}\n",
                    "m.yaml:2:37: error: payload_size: '12XB'; expected bytes, such as 512, 4KiB "
                    "or 1MiB\n"},
        ManifestRow{"out_of_range", "hatrpc_manifest: 1\nservices: {A: {hint: {timeout_ms: 0}}}\n",
                    "m.yaml:2:35: error: timeout_ms: '0' is out of the range from 1 to 4294967295; "
                    "expected milliseconds, from 1\n"},
        ManifestRow{"not_a_flag",
                    "hatrpc_manifest: 1\nservices: {A: {functions: {f: {oneway: maybe}}}}\n",
                    "m.yaml:2:40: error: oneway: 'maybe'; expected false, true\n"},
        ManifestRow{"allow_of_nobody",
                    "hatrpc_manifest: 1\nservices: {A: {allow: [], functions: {f: {allow_mode: "
                    "dry_run}}}}\n",
                    "m.yaml:2:23: error: allow is empty; leave it out to allow everybody\n"
                    "m.yaml:2:55: error: allow_mode has no effect without `allow`; add `allow`, or "
                    "remove allow_mode\n"},
        ManifestRow{"service_twice", "hatrpc_manifest: 1\nservices:\n  A: {}\n  A: {}\n",
                    "m.yaml:4:3: error: 'A' appears twice; first at line 3\n"},
        ManifestRow{
            "several_at_once",
            "hatrpc_manifest: 1\nservices:\n  A:\n    hint: {perf_goal: fast}\n"
            "    functions:\n      f: {hint: {priority: highest}}\n",
            "m.yaml:4:23: error: perf_goal: 'fast'; expected latency, throughput or res_util\n"
            "m.yaml:6:28: error: priority: 'highest'; expected low, normal or high\n"},
        ManifestRow{
            "no_yaml", "hatrpc_manifest: 1\n\tservices: {}\n",
            "m.yaml:2:1: error: this is not YAML: illegal tab when looking for indentation\n"},
        ManifestRow{
            "no_identifier", "hatrpc_manifest: 1\nservices: {A: {functions: {\"f()\": {}}}}\n",
            "m.yaml:2:28: error: a function's name: 'f()'; expected 1 to 255 letters, digits, '_' "
            "and '.', the first a letter or '_'\n"},
        ManifestRow{"control_character", "hatrpc_manifest: 1\nser\4vices: {}\n",
                    "m.yaml:2:4: error: this is a control character; a YAML file must be UTF-8 "
                    "text without control characters\n"},
        ManifestRow{"no_utf8", "hatrpc_manifest: 1\nsource: \"\u00e4\xff\"\nservices: {}\n",
                    "m.yaml:2:11: error: this is not UTF-8; a YAML file must be UTF-8 text without "
                    "control characters\n"},
        ManifestRow{"empty", "# nothing\n",
                    "m.yaml: error: the file is empty; expected a mapping\n"},
        ManifestRow{"two_documents", "hatrpc_manifest: 1\nservices: {}\n---\nservices: {}\n",
                    "m.yaml:3:1: error: this is outside of the file's mapping, or begins a second "
                    "YAML document; expected one mapping\n"},
        ManifestRow{"endless_documents", ", hatrpc_manifest: 1\n",
                    "m.yaml:1:1: error: this is outside of the file's mapping, or begins a second "
                    "YAML document; expected one mapping\n"}),
    [](const auto& row) { return row.param.name; });

Manifest read_well(const std::string& text) {
  Diagnostics diagnostics;
  Manifest manifest = read_manifest(text, "m.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  return manifest;
}

INSTANTIATE_TEST_SUITE_P(
    Types, ManifestDiagnostic,
    testing::Values(
        ManifestRow{"unknown_argument_type",
                    "hatrpc_manifest: 1\nservices: {A: {functions: {f: {arguments: {1: Pear}}}, "
                    "types: {Pair: {}}}}\n",
                    "m.yaml:2:47: error: unknown type 'Pear': neither a Thrift type nor one of the "
                    "service's `types`\n"},
        ManifestRow{"argument_ids",
                    "hatrpc_manifest: 1\nservices: {A: {functions: {f: {arguments: {x: i8, 40000: "
                    "i8, 1: i8, 01: i8}}}}}\n",
                    "m.yaml:2:44: error: a field's id: 'x'; expected a number from -32768 to "
                    "32767\n"
                    "m.yaml:2:51: error: a field's id: '40000'; expected a number from -32768 to "
                    "32767\n"
                    "m.yaml:2:69: error: field 1 appears twice\n"},
        ManifestRow{"union_and_more",
                    "hatrpc_manifest: 1\nservices: {A: {types: {U: {union: {1: i8}, 2: i8}}}}\n",
                    "m.yaml:2:28: error: a field's id: 'union'; expected a number from -32768 to "
                    "32767\n"
                    "m.yaml:2:35: error: a field's type is a mapping; expected a single value\n"},
        ManifestRow{"values_of_an_enum",
                    "hatrpc_manifest: 1\nservices: {A: {types: {E: {enum: [1, x, 1, "
                    "2147483648]}}}}\n",
                    "m.yaml:2:38: error: an enum's value: 'x'; expected a number from -2147483648 "
                    "to 2147483647\n"
                    "m.yaml:2:41: error: value 1 appears twice\n"
                    "m.yaml:2:44: error: an enum's value: '2147483648'; expected a number from "
                    "-2147483648 to 2147483647\n"},
        ManifestRow{"type_of_thrift",
                    "hatrpc_manifest: 1\nservices: {A: {types: {uuid: {1: i8}}}}\n",
                    "m.yaml:2:24: error: 'uuid' is a built-in type of Thrift; choose another "
                    "name\n"}),
    [](const auto& row) { return row.param.name; });

constexpr const char* kCalculator = R"(hatrpc_manifest: 1
source: calculator.thrift
services:
  Calculator:
    origin: calculator.thrift:3:9
    hint: {perf_goal: latency, concurrency: 8}
    functions:
      add:
        oneway: false
        arguments: {1: i64, 2: i64}
      sums:
        arguments: {1: required list<Term>, -1: "map<binary,more.Term>", 2: Sign}
        hint: {perf_goal: throughput, concurrency: over}
        c_hint: {payload_size: 4KiB, numa: 1}
        s_hint: {payload_size: 64KiB, numa: nic}
      log:
        oneway: true
        hint: {transport: tcp, plan: learned, priority: low, timeout_ms: 250, idempotent: true}
        allow: ["spiffe://p/hosts/*", "*.example"]
        allow_mode: dry_run
    allow: [host-a]
    allow_mode: enforce
    allow_unknown_fields: true
    types:
      Term: {1: double, 2: "set<Term>"}
      more.Term: {union: {3: string, 4: binary}}
      Sign: {enum: [1, -1]}
)";

TEST(Manifest, ReadsEveryKindOfHint) {
  const Manifest manifest = read_well(kCalculator);
  ASSERT_EQ(manifest.services.size(), 1u);
  const ServiceSpec& service = manifest.services[0];
  EXPECT_EQ(service.name, "Calculator");
  EXPECT_EQ(service.hints.both.perf_goal, PerfGoal::kLatency);
  EXPECT_EQ(service.hints.both.concurrency, Concurrency(8u));
  ASSERT_EQ(service.functions.size(), 3u);
  EXPECT_EQ(service.functions[1].hints.both.concurrency, Concurrency(Subscription::kOver));
  EXPECT_EQ(service.functions[1].hints.client.payload_bytes, 4096u);
  EXPECT_EQ(service.functions[1].hints.client.numa, Numa(1u));
  EXPECT_EQ(service.functions[1].hints.server.numa, Numa(NumaWord::kNic));
  EXPECT_TRUE(service.functions[2].oneway);
  EXPECT_EQ(service.functions[2].hints.both.transport, Path::kTcp);
  EXPECT_EQ(service.functions[2].hints.both.plan, PlanSource::kLearned);
  EXPECT_EQ(service.functions[2].hints.both.timeout, std::chrono::milliseconds(250));
  EXPECT_EQ(service.functions[2].hints.both.idempotent, true);
}

TEST(Manifest, ReadsWhoMayCall) {
  const Manifest manifest = read_well(kCalculator);
  const ServiceSpec& service = manifest.services[0];
  EXPECT_EQ(service.access, (AccessRule{{"host-a"}, false}));
  EXPECT_EQ(service.functions[0].access, std::nullopt);
  EXPECT_EQ(service.functions[2].access, (AccessRule{{"spiffe://p/hosts/*", "*.example"}, true}));
}

TEST(Manifest, ReadsTheTypesOfArguments) {
  const Manifest manifest = read_well(kCalculator);
  const ServiceSpec& service = manifest.services[0];
  EXPECT_TRUE(service.allow_unknown_fields);
  ASSERT_EQ(service.types.size(), 3u);
  EXPECT_EQ(to_string(service.types[0].fields.at(1), service.types), "set<Term>");
  const FieldSpecs& sums = service.functions[1].arguments.value();
  EXPECT_EQ(to_string(*find_field(sums, 1), service.types), "required list<Term>");
  EXPECT_EQ(to_string(*find_field(sums, -1), service.types), "map<binary,more.Term>");
  EXPECT_EQ(find_field(sums, 2)->type.wire, WireType::kI32) << "as enums stand on the wire";
  const NamedType& either = service.types[1];
  EXPECT_EQ(either.kind, NamedType::Kind::kUnion);
  EXPECT_TRUE(find_field(either.fields, 3)->type.is_text);
  EXPECT_FALSE(find_field(either.fields, 4)->type.is_text);
  EXPECT_EQ(service.types[2].values, (std::vector{-1, 1}));
  EXPECT_EQ(service.functions[2].arguments, std::nullopt) << "not known";
}

TEST(Manifest, ComesBackFromWhatWasWritten) {
  const Manifest manifest = read_well(kCalculator);
  const std::string text = write_manifest(manifest);
  EXPECT_EQ(read_well(text), manifest);
  EXPECT_EQ(write_manifest(read_well(text)), text);
}

TEST(Manifest, ReadsTheOlderSpellings) {
  const Manifest manifest =
      read_well("hatrpc_manifest: 1\nservices: {A: {hint: {perf_pref: busy, proto: rfp}}}\n");
  EXPECT_EQ(manifest.services[0].hints.both.polling, Polling::kBusy);
  EXPECT_EQ(manifest.services[0].hints.both.protocol, "rfp");
}

// A text that is not a manifest must cause an error, not a crash.
TEST(Manifest, SurvivesWhatIsNoManifest) {
  for (const std::string& text :
       {std::string(), std::string("\xff\xfe\x00", 3), std::string(100'000, '['),
        std::string(100'000, '{'), std::string("a: &a [*a, *a]"), std::string("[1, 2]"),
        std::string("services: 7"), std::string("hatrpc_manifest: 2\nservices: {}")}) {
    Diagnostics diagnostics;
    read_manifest(text, "m.yaml", diagnostics);
    EXPECT_TRUE(diagnostics.any_errors()) << text.substr(0, 40);
  }
}

TEST(Manifest, OfTheExamplesIsGood) {
  Diagnostics diagnostics;
  const Manifest manifest =
      load_manifests({{HAT_SOURCE_DIR "/config/examples/calculator.yaml", {}}}, diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  EXPECT_EQ(manifest.services.size(), 1u);
}

TEST(Manifest, ReportsOfAFileThatIsNotThere) {
  Diagnostics diagnostics;
  load_manifests({{"/nonexistent/m.yaml", {"node.yaml", 2, 13}}}, diagnostics);
  EXPECT_EQ(diagnostics.text(),
            "node.yaml:2:13: error: manifests: /nonexistent/m.yaml: there is no such file or "
            "directory\n");
}

}  // namespace
}  // namespace hat
