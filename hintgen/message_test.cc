// SPDX-License-Identifier: Apache-2.0
// hintgen/message_test.cc: tests the complete diagnostics (location, reason and remedy) for common
// errors in IDL files.
#include <gtest/gtest.h>

#include <string>

#include "hintgen/compile_text.h"

namespace hat::hintgen {
namespace {

struct MessageRow {
  const char* name;
  const char* text;
  const char* messages;  // "LINE:COLUMN: SEVERITY: MESSAGE", one per line
};
std::ostream& operator<<(std::ostream& out, const MessageRow& row) { return out << row.name; }

class Message : public testing::TestWithParam<MessageRow> {};

TEST_P(Message, SaysWhereWhatAndWhatToWrite) {
  const Compiled compiled = compile_text(GetParam().text);
  std::string messages;
  for (const Diagnostic& diagnostic : compiled.diagnostics.all()) {
    const bool is_error = diagnostic.severity == Diagnostic::Severity::kError;
    messages += std::to_string(diagnostic.location.line) + ":" +
                std::to_string(diagnostic.location.column) +
                (is_error ? ": error: " : ": warning: ") + diagnostic.message + "\n";
  }
  EXPECT_EQ(messages, GetParam().messages);
}

const auto kNameOf = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(
    HintGroups, Message,
    testing::Values(
        MessageRow{"no_colon_in_brackets",
                   "service S {\n  void f() [ hint perf_goal=latency; ]\n}\n",
                   "2:19: error: expected ':' after 'hint'; write 'hint: perf_goal=VALUE;'\n"},
        MessageRow{"no_colon_in_service", "service S {\n  hint perf_goal=latency;\n  void f()\n}\n",
                   "2:8: error: expected ':' after 'hint'; write 'hint: perf_goal=VALUE;'\n"},
        MessageRow{"no_colon_of_a_side", "service S {\n  c_hint polling=busy, numa=nic;\n}\n",
                   "2:10: error: expected ':' after 'c_hint'; write 'c_hint: polling=VALUE;'\n"},
        MessageRow{"semicolon_for_comma_in_brackets",
                   "service S {\n  void f() [ hint: perf_goal=latency; polling=busy; ]\n}\n",
                   "2:39: error: expected a group of hints, found the hint 'polling'; write ',' "
                   "instead of ';' between the hints of one group, or 'hint: polling=VALUE;'\n"},
        MessageRow{"semicolon_for_comma_in_service",
                   "service S {\n  hint: perf_goal=latency; polling=busy;\n}\n",
                   "2:28: error: expected a group of hints, found the hint 'polling'; write ',' "
                   "instead of ';' between the hints of one group, or 'hint: polling=VALUE;'\n"},
        MessageRow{"no_group_in_brackets", "service S {\n  void f() [ polling=busy; ]\n}\n",
                   "2:14: error: the hint 'polling' is outside of a group; write 'hint: "
                   "polling=VALUE;'\n"},
        MessageRow{"no_group_in_service", "service S {\n  polling=busy;\n  void f()\n}\n",
                   "2:3: error: the hint 'polling' is outside of a group; write 'hint: "
                   "polling=VALUE;'\n"}),
    kNameOf);

INSTANTIATE_TEST_SUITE_P(
    HintPlaces, Message,
    testing::Values(
        MessageRow{"in_a_struct", "struct P {\n  hint: perf_goal=latency;\n  1: i32 x\n}\n",
                   "2:3: error: 'hint:' is not allowed here, because only services and functions "
                   "have hints; write it in a service, or in [ ] after a function\n"},
        MessageRow{"in_a_struct_after_a_field",
                   "struct P {\n  1: i32 x\n  s_hint: perf_goal=latency, polling=busy;\n}\n",
                   "3:3: error: 's_hint:' is not allowed here, because only services and functions "
                   "have hints; write it in a service, or in [ ] after a function\n"},
        MessageRow{"in_arguments", "service S {\n  void f(hint: polling=busy;)\n}\n",
                   "2:10: error: 'hint:' is not allowed here, because only services and functions "
                   "have hints; write it in a service, or in [ ] after a function\n"},
        MessageRow{"in_an_enum", "enum E {\n  A\n  hint: polling=busy;\n}\n",
                   "3:3: error: 'hint:' is not allowed here, because only services and functions "
                   "have hints; write it in a service, or in [ ] after a function\n"},
        MessageRow{"outside_of_services", "hint: polling=busy;\nservice S {}\n",
                   "1:1: error: 'hint:' is not allowed here, because only services and functions "
                   "have hints; write it in a service, or in [ ] after a function\n"}),
    kNameOf);

INSTANTIATE_TEST_SUITE_P(
    HintEnds, Message,
    testing::Values(
        MessageRow{"no_end_before_a_bracket", "service S {\n  void f() [ hint: polling=busy ]\n}\n",
                   "2:33: error: a group of hints ends with ';'; write ';' before ']'\n"},
        MessageRow{"no_end_before_a_function",
                   "service S {\n  hint: payload_size=64\n  void f()\n}\n",
                   "3:3: error: a group of hints ends with ';'; write ';' before 'void'\n"},
        MessageRow{"no_comma_after_a_word", "service S {\n  hint: polling=busy numa=nic;\n}\n",
                   "2:22: error: expected ',' before the next hint; write ', numa=VALUE'\n"},
        MessageRow{"no_comma_after_a_number",
                   "service S {\n  hint: payload_size=64 polling=busy;\n}\n",
                   "2:25: error: expected ',' before the next hint; write ', polling=VALUE'\n"},
        MessageRow{"colon_for_equals", "service S {\n  hint: polling: busy;\n}\n",
                   "2:16: error: unexpected ':'; expected '='\n"},
        MessageRow{"no_value", "service S {\n  hint: polling=;\n}\n",
                   "2:17: error: unexpected ';'; expected a value\n"}),
    kNameOf);

INSTANTIATE_TEST_SUITE_P(
    Ranges, Message,
    testing::Values(
        MessageRow{"concurrency_0", "service S {\n  hint: concurrency=0;\n}\n",
                   "2:21: error: concurrency: '0' is out of the range from 1 to 4294967295; "
                   "expected a number of callers, or under, full or over\n"},
        MessageRow{"concurrency_negative", "service S {\n  hint: concurrency=-4;\n}\n",
                   "2:21: error: concurrency: '-4' is out of the range from 1 to 4294967295; "
                   "expected a number of callers, or under, full or over\n"},
        MessageRow{"concurrency_above_32_bits", "service S {\n  hint: concurrency=4294967296;\n}\n",
                   "2:21: error: concurrency: '4294967296' is out of the range from 1 to "
                   "4294967295; expected a number of callers, or under, full or over\n"},
        MessageRow{"timeout_0", "service S {\n  hint: timeout_ms=0;\n}\n",
                   "2:20: error: timeout_ms: '0' is out of the range from 1 to 4294967295; "
                   "expected milliseconds, from 1\n"},
        MessageRow{"numa_negative", "service S {\n  hint: numa=-1;\n}\n",
                   "2:14: error: numa: '-1' is out of the range from 0 to 4294967295; expected a "
                   "node's number, nic or any\n"},
        MessageRow{"payload_above_64_bits",
                   "service S {\n  hint: payload_size=99999999999GiB;\n}\n",
                   "2:22: error: payload_size: '99999999999GiB' is out of the range from 0 to "
                   "18446744073709551615; expected bytes, such as 512, 4KiB or 1MiB\n"},
        MessageRow{"payload_negative", "service S {\n  void f() ( hat.payload_size = \"-5\" )\n}\n",
                   "2:33: error: payload_size: '-5' is out of the range from 0 to "
                   "18446744073709551615; expected bytes, such as 512, 4KiB or 1MiB\n"},
        MessageRow{"integer_above_64_bits",
                   "service S {\n  hint: concurrency=99999999999999999999;\n}\n",
                   "2:21: error: '99999999999999999999' is out of range; Thrift's integers are "
                   "from -9223372036854775808 to 9223372036854775807\n"},
        MessageRow{"enum_member", "enum E { A = 3000000000 }\n",
                   "1:10: error: the value 3000000000 of 'A' is out of range; an enum's values are "
                   "from -2147483648 to 2147483647\n"},
        MessageRow{"field_id", "struct P { 40000: i32 x }\n",
                   "1:12: warning: field id 40000 is out of range; Thrift sends ids "
                   "from 1 to 32767\n"},
        MessageRow{"constant", "const i8 X = 300\n",
                   "1:14: warning: the value 300 is out of range; 'i8' takes -128 to 127\n"}),
    kNameOf);

INSTANTIATE_TEST_SUITE_P(
    Units, Message,
    testing::Values(
        MessageRow{"kilobytes", "service S {\n  hint: payload_size=4KB;\n}\n",
                   "2:22: error: payload_size: '4KB' (did you mean '4KiB'?); expected bytes, such "
                   "as 512, 4KiB or 1MiB\n"},
        MessageRow{"megabytes_in_small_letters", "service S {\n  hint: payload_size=1mb;\n}\n",
                   "2:22: error: payload_size: '1mb' (did you mean '1MiB'?); expected bytes, such "
                   "as 512, 4KiB or 1MiB\n"},
        MessageRow{"bare_k", "service S {\n  hint: payload_size=10k;\n}\n",
                   "2:22: error: payload_size: '10k' (did you mean '10KiB'?); expected bytes, such "
                   "as 512, 4KiB or 1MiB\n"},
        MessageRow{"bytes", "service S {\n  hint: payload_size=64bytes;\n}\n",
                   "2:22: error: payload_size: '64bytes' (did you mean '64'?); expected bytes, "
                   "such as 512, 4KiB or 1MiB\n"},
        MessageRow{"unknown_unit", "service S {\n  hint: payload_size=64blocks;\n}\n",
                   "2:22: error: payload_size: '64blocks'; expected bytes, such as 512, 4KiB or "
                   "1MiB\n"},
        MessageRow{"milliseconds", "service S {\n  hint: timeout_ms=10ms;\n}\n",
                   "2:20: error: timeout_ms: '10ms' (did you mean '10'?); expected milliseconds, "
                   "from 1\n"},
        MessageRow{"seconds", "service S {\n  hint: timeout_ms=2s;\n}\n",
                   "2:20: error: timeout_ms: '2s' (did you mean '2000'?); expected milliseconds, "
                   "from 1\n"},
        MessageRow{"microseconds", "service S {\n  hint: timeout_ms=10us;\n}\n",
                   "2:20: error: timeout_ms: '10us'; expected milliseconds, from 1\n"}),
    kNameOf);

INSTANTIATE_TEST_SUITE_P(
    Words, Message,
    testing::Values(
        MessageRow{"capital_value", "service S {\n  hint: polling=BUSY;\n}\n",
                   "2:17: error: polling: 'BUSY' (did you mean 'busy'?); expected busy, event or "
                   "adaptive\n"},
        MessageRow{"capital_value_with_a_slip", "service S {\n  hint: transport=RMDA;\n}\n",
                   "2:19: error: transport: 'RMDA' (did you mean 'rdma'?); expected rdma or tcp\n"},
        MessageRow{
            "capital_key", "service S {\n  hint: PERF_GOAL=latency;\n}\n",
            "2:9: error: unknown hint 'PERF_GOAL' (did you mean 'perf_goal'?); expected one "
            "of perf_goal, concurrency, payload_size, polling, protocol, transport, plan, numa, "
            "priority, timeout_ms, idempotent\n"},
        MessageRow{
            "camel_case_key", "service S {\n  hint: perfGoal=latency;\n}\n",
            "2:9: error: unknown hint 'perfGoal' (did you mean 'perf_goal'?); expected one "
            "of perf_goal, concurrency, payload_size, polling, protocol, transport, plan, numa, "
            "priority, timeout_ms, idempotent\n"},
        MessageRow{"capital_group", "service S {\n  Hint: perf_goal=latency;\n}\n",
                   "2:3: error: unknown hint group 'Hint' (did you mean 'hint'?); expected "
                   "hint, c_hint or s_hint\n"},
        MessageRow{
            "yes", "service S {\n  hint: idempotent=Yes;\n}\n",
            "2:20: error: idempotent: 'Yes' (did you mean 'true'?); expected true or false\n"},
        MessageRow{
            "off", "service S {\n  hint: idempotent=off;\n}\n",
            "2:20: error: idempotent: 'off' (did you mean 'false'?); expected true or false\n"},
        MessageRow{"capital_types", "struct P { 1: I32 x, 2: String y }\n",
                   "1:15: error: unknown type 'I32' (did you mean 'i32'?)\n"
                   "1:25: error: unknown type 'String' (did you mean 'string'?)\n"}),
    kNameOf);

INSTANTIATE_TEST_SUITE_P(
    OtherDialects, Message,
    testing::Values(
        MessageRow{
            "annotation_of_a_struct", "@thrift.Anno{name = \"x\"}\nstruct P {\n  1: i32 x\n}\n",
            "1:1: error: '@' begins an annotation of Facebook's Thrift, which Apache Thrift does "
            "not read; write ( name = \"value\" ) after the definition, or leave it out\n"},
        MessageRow{
            "annotation_of_a_field", "struct P {\n  @cpp.Type{name = \"x\"}\n  1: i32 x\n}\n",
            "2:3: error: '@' begins an annotation of Facebook's Thrift, which Apache Thrift does "
            "not read; write ( name = \"value\" ) after the definition, or leave it out\n"},
        MessageRow{"package", "package \"example.com/x\"\nnamespace cpp x\nstruct P { 1: i32 x }\n",
                   "1:1: error: 'package' is a header of Facebook's Thrift, which Apache Thrift "
                   "does not read; write 'namespace * NAME', or leave it out\n"},
        MessageRow{"package_after_a_header", "namespace cpp x\npackage \"example.com/x\"\n",
                   "2:1: error: 'package' is a header of Facebook's Thrift, which Apache Thrift "
                   "does not read; write 'namespace * NAME', or leave it out\n"},
        MessageRow{
            "float", "struct P { 1: float x }\n",
            "1:15: error: unknown type 'float': it is a type of Facebook's Thrift; use 'double'\n"},
        MessageRow{"interaction", "interaction X {\n  void f()\n}\n",
                   "1:1: error: 'interaction' is a word of Facebook's Thrift, which Apache Thrift "
                   "does not read; write 'service'\n"},
        MessageRow{"hs_include", "hs_include \"x.thrift\"\n",
                   "1:1: error: 'hs_include' is a header of Facebook's Thrift, which Apache Thrift "
                   "does not read; write 'include'\n"}),
    kNameOf);

}  // namespace
}  // namespace hat::hintgen
