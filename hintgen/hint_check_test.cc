// SPDX-License-Identifier: Apache-2.0
// hintgen/hint_check_test.cc: tests the diagnostics for every kind of error in a hint, in both
// spellings, and their source locations.
#include "hintgen/hint_check.h"

#include <gtest/gtest.h>

#include "hintgen/compile_text.h"

namespace hat::hintgen {
namespace {

struct Row {
  const char* name;
  const char* line;         // the second line of a service
  const char* diagnostics;  // in the form that short_form() returns
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

class HintDiagnostic : public testing::TestWithParam<Row> {};

// Returns "COLUMN: MESSAGE", one line for each diagnostic. A message ends before its first ';'.
std::string short_form(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    EXPECT_EQ(diagnostic.location.line, 2);
    const bool error = diagnostic.severity == Diagnostic::Severity::kError;
    text += std::to_string(diagnostic.location.column) + (error ? ": " : ": warning: ") +
            diagnostic.message.substr(0, diagnostic.message.find(';')) + "\n";
  }
  return text;
}

TEST_P(HintDiagnostic, IsNamedAtItsPlace) {
  const Compiled compiled = compile_text("service S {\n" + std::string(GetParam().line) + "\n}\n");
  EXPECT_EQ(short_form(compiled.diagnostics), GetParam().diagnostics);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, HintDiagnostic,
    testing::Values(
        Row{"group", "hnit: perf_goal=latency;",
            "1: unknown hint group 'hnit' (did you mean 'hint'?)\n"},
        Row{"key", "hint: perf_gaol=latency;",
            "7: unknown hint 'perf_gaol' (did you mean 'perf_goal'?)\n"},
        Row{"nothing_like_it", "hint: colour=red;", "7: unknown hint 'colour'\n"},
        Row{"perf_goal", "hint: perf_goal=latncy;",
            "17: perf_goal: 'latncy' (did you mean 'latency'?)\n"},
        Row{"concurrency", "hint: concurrency=0;",
            "19: concurrency: '0' is out of the range from 1 to 4294967295\n"},
        Row{"payload_size", "hint: payload_size=12XB;", "20: payload_size: '12XB'\n"},
        Row{"polling", "hint: polling=bussy;", "15: polling: 'bussy' (did you mean 'busy'?)\n"},
        Row{"older_polling", "hint: perf_pref=bussy;",
            "17: polling: 'bussy' (did you mean 'busy'?)\n"},
        Row{"protocol", "hint: protocol=eagr;", "16: protocol: 'eagr' (did you mean 'eager'?)\n"},
        Row{"transport", "hint: transport=rmda;", "17: transport: 'rmda' (did you mean 'rdma'?)\n"},
        Row{"plan", "hint: plan=lerned;", "12: plan: 'lerned' (did you mean 'learned'?)\n"},
        Row{"numa", "hint: numa=nik;", "12: numa: 'nik' (did you mean 'nic'?)\n"},
        Row{"priority", "hint: priority=hihg;", "16: priority: 'hihg' (did you mean 'high'?)\n"},
        Row{"timeout", "hint: timeout_ms=soon;", "18: timeout_ms: 'soon'\n"},
        Row{"idempotent", "hint: idempotent=maybe;", "18: idempotent: 'maybe'\n"},
        Row{"several_at_once", "hint: polling=bussy, numa=nik; void f() [ hint: oops=1; ]",
            "15: polling: 'bussy' (did you mean 'busy'?)\n"
            "27: numa: 'nik' (did you mean 'nic'?)\n"
            "49: unknown hint 'oops'\n"},
        Row{"twice_with_two_values", "hint: payload_size=64, payload_size=128;",
            "24: 'payload_size' contradicts 'payload_size' in line 2\n"},
        Row{"older_key_against_newer", "hint: perf_pref=busy, polling=event;",
            "23: 'polling' contradicts 'perf_pref' in line 2\n"},
        Row{"native_against_annotation",
            "void f() ( hat.polling = \"busy\" ) [ hint: polling=event; ]",
            "12: 'hat.polling' contradicts 'polling' in line 2\n"},
        Row{"twice_the_same", "hint: payload_size=1KiB, payload_size=1024;", ""},
        Row{"sides_may_differ", "c_hint: polling=busy; s_hint: polling=event;", ""},
        Row{"annotation_without_value", "void f() ( hat.polling )",
            "12: the hint 'hat.polling' needs a value: hat.polling = \"VALUE\"\n"},
        Row{"annotation_side", "void f() ( hat.cleint.polling = \"busy\" )",
            "12: cannot read 'hat.cleint.polling' as a hint\n"},
        Row{"annotation_key", "void f() ( hat.client.poling = \"busy\" )",
            "12: unknown hint 'poling' (did you mean 'polling'?)\n"},
        Row{"annotation_of_another_tool", "void f() ( hats.polling = \"bussy\" )", ""},
        Row{"annotation_of_an_argument", "void f(1: i32 a ( hat.polling = \"busy\" ))",
            "19: warning: 'hat.polling' has no effect here\n"},
        Row{"group_after_a_function", "void f() hint: numa=any;",
            "10: warning: these hints apply to the whole service\n"},
        Row{"no_comma", "hint: payload_size=64 polling=busy;",
            "23: expected ',' before the next hint\n"},
        Row{"gap_before_the_unit", "hint: payload_size=64 KiB;",
            "20: write '64KiB' without a space\n"},
        Row{"no_semicolon", "void f() [ hint: polling=busy ]",
            "31: a group of hints ends with '\n"},
        Row{"no_value", "hint: polling=;", "15: unexpected '\n"},
        Row{"no_colon", "void f() [ hint polling=busy; ]", "17: expected ':' after 'hint'\n"},
        Row{"no_hints", "void f() [ hint: ; ]", "18: unexpected '\n"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace hat::hintgen
