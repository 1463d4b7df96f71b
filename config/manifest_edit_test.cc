// SPDX-License-Identifier: Apache-2.0
#include "config/manifest_edit.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "config/hint_values.h"
#include "config/manifest.h"

namespace hat {
namespace {

using testing::HasSubstr;

HintEdit edit_of_get(const char* group, const char* key, std::optional<std::string> value) {
  return {"Kv", "get", group, key, std::move(value)};
}
const HintEdit kSetSize = edit_of_get("c_hint", "payload_size", "512");
const HintEdit kSetGoal = edit_of_get("hint", "perf_goal", "latency");
const HintEdit kRemoveSize = edit_of_get("c_hint", "payload_size", std::nullopt);

struct EditRow {
  const char* name;
  HintEdit edit;
  std::string before;  // what follows "functions:" in the manifest
  std::string after;
};
std::ostream& operator<<(std::ostream& out, const EditRow& row) { return out << row.name; }

std::string manifest_with(const std::string& functions) {
  return "# Größen\nhatrpc_manifest: 1\nservices:\n  Kv:\n    functions:" + functions;
}

class ManifestEdit : public testing::TestWithParam<EditRow> {};

TEST_P(ManifestEdit, ChangesOnlyTheHint) {
  const auto& [name, edit, before, after] = GetParam();
  const auto edited = edit_manifest(manifest_with(before), "m.yaml", {&edit, 1});
  ASSERT_TRUE(edited) << edited.error().message;
  EXPECT_EQ(*edited, manifest_with(after));
}

INSTANTIATE_TEST_SUITE_P(
    Set, ManifestEdit,
    testing::Values(
        EditRow{"flow", kSetSize, "\n      get: # a\n        c_hint: {payload_size:  64KiB} # b\n",
                "\n      get: # a\n        c_hint: {payload_size:  512} # b\n"},
        EditRow{"block", kSetSize,
                "\n      get:\n        c_hint:\n          payload_size: 4KiB #b\n",
                "\n      get:\n        c_hint:\n          payload_size: 512 #b\n"},
        EditRow{"value_on_its_own_line", kSetSize,
                "\n      get:\n        c_hint:\n          payload_size:\n            4KiB\n",
                "\n      get:\n        c_hint:\n          payload_size:\n            512\n"},
        EditRow{"quotes", kSetSize, " {get: {c_hint: {\"payload_size\": \"64\"}}}",
                " {get: {c_hint: {\"payload_size\": \"512\"}}}"},
        EditRow{"single_quotes", kSetSize, " {'get': {'c_hint': {'payload_size': '64'}}}",
                " {'get': {'c_hint': {'payload_size': '512'}}}"},
        EditRow{"older_spelling", edit_of_get("hint", "polling", "busy"),
                " {get: {hint: {perf_pref: event}}}", " {get: {hint: {perf_pref: busy}}}"},
        EditRow{"both_spellings", edit_of_get("hint", "polling", "busy"),
                " {get: {hint: {polling: adaptive, perf_pref: event}}}",
                " {get: {hint: {polling: adaptive, perf_pref: busy}}}"},
        EditRow{"same_key_elsewhere", kSetSize,
                "\n      put: {c_hint: {payload_size: 1}}\n      get: {c_hint: {payload_size: 2}, "
                "s_hint: {payload_size: 3}}\n",
                "\n      put: {c_hint: {payload_size: 1}}\n      get: {c_hint: {payload_size: "
                "512}, s_hint: {payload_size: 3}}\n"}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    AddKey, ManifestEdit,
    testing::Values(
        EditRow{"flow", kSetSize, "\n      get: {c_hint: {polling: busy}}  # a\n      put: {}\n",
                "\n      get: {c_hint: {polling: busy, payload_size: 512}}  # a\n      put: {}\n"},
        EditRow{"empty", kSetSize, " {get: {c_hint: {}}}", " {get: {c_hint: {payload_size: 512}}}"},
        EditRow{"last_comma", kSetSize, " {get: {c_hint: {polling: busy, }}}",
                " {get: {c_hint: {polling: busy, payload_size: 512, }}}"},
        EditRow{"flow_of_lines", kSetSize,
                "\n      get: {c_hint: {\n        numa: any,  # a\n        polling: busy  # b\n"
                "      }}\n",
                "\n      get: {c_hint: {\n        numa: any,  # a\n        polling: busy, "
                "payload_size: 512  # b\n      }}\n"},
        EditRow{"block", kSetSize,
                "\n      get:\n        c_hint:\n            polling: busy  # a\n        # b\n"
                "        oneway: true\n",
                "\n      get:\n        c_hint:\n            polling: busy  # a\n            "
                "payload_size: 512\n        # b\n        oneway: true\n"},
        EditRow{"end_of_file", kSetSize, "\n      get:\n        c_hint:\n          polling: busy",
                "\n      get:\n        c_hint:\n          polling: busy\n          payload_size: "
                "512"},
        EditRow{"crlf", kSetSize,
                "\r\n      get:\r\n        c_hint:\r\n          polling: busy\r\n      put: {}\r\n",
                "\r\n      get:\r\n        c_hint:\r\n          polling: busy\r\n          "
                "payload_size: 512\r\n      put: {}\r\n"}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    AddGroup, ManifestEdit,
    testing::Values(
        EditRow{"nothing", kSetSize, "\n      get:  # a\n      put: {}\n",
                "\n      get: {c_hint: {payload_size: 512}}  # a\n      put: {}\n"},
        EditRow{"nothing_at_the_end", kSetSize,
                "\n      get:", "\n      get: {c_hint: {payload_size: 512}}"},
        EditRow{"null", kSetSize, "\n      get: ~  # a\n",
                "\n      get: {c_hint: {payload_size: 512}}  # a\n"},
        EditRow{"name_alone", kSetSize, " {get, put}",
                " {get: {c_hint: {payload_size: 512}}, put}"},
        EditRow{"empty", kSetSize, "\n      get: {}\n",
                "\n      get: {c_hint: {payload_size: 512}}\n"},
        EditRow{"flow", kSetSize, " {get: {oneway: true}}",
                " {get: {oneway: true, c_hint: {payload_size: 512}}}"},
        EditRow{"after_the_other_groups", kSetGoal,
                " {get: {s_hint: {numa: 'any' }, origin: x, allow: [a, \"b\" # c ]\n  ]}}",
                " {get: {s_hint: {numa: 'any' }, hint: {perf_goal: latency}, origin: x, allow: "
                "[a, \"b\" # c ]\n  ]}}"},
        EditRow{"after_a_list_of_lines", kSetGoal, " {get: {allow: [a, \"b\" # c ]\n  , ] } }",
                " {get: {allow: [a, \"b\" # c ]\n  , ], hint: {perf_goal: latency} } }"},
        EditRow{"after_single_quotes", kSetSize, " {get: {origin: 'it''s }' }}",
                " {get: {origin: 'it''s }', c_hint: {payload_size: 512} }}"},
        EditRow{"after_double_quotes", kSetSize, " {get: {origin: \"\\\"}\\\\\" }}",
                " {get: {origin: \"\\\"}\\\\\", c_hint: {payload_size: 512} }}"},
        EditRow{"with_a_tag", kSetSize, " {get: {c_hint: !!map {numa: any}}}",
                " {get: {c_hint: !!map {numa: any, payload_size: 512}}}"},
        EditRow{"explicit_key", kSetSize, "\n      ? get\n      : {}\n      ? put",
                "\n      ? get\n      : {c_hint: {payload_size: 512}}\n      ? put"}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    AddGroupAsALine, ManifestEdit,
    testing::Values(
        EditRow{"after_arguments", kSetSize,
                "\n      get:\n        arguments: {1: string, 2: \"list<i8>\" }  # a\n      # put\n"
                "      put: {}\n",
                "\n      get:\n        arguments: {1: string, 2: \"list<i8>\" }  # a\n        "
                "c_hint: {payload_size: 512}\n      # put\n      put: {}\n"},
        EditRow{"after_a_block", kSetSize,
                "\n      get:\n        hint:\n          numa: any\n          # a\n        allow:\n"
                "          - a\n      put: {}\n",
                "\n      get:\n        hint:\n          numa: any\n        c_hint: {payload_size: "
                "512}\n          # a\n        allow:\n          - a\n      put: {}\n"},
        EditRow{
            "after_a_list", kSetSize,
            "\n      get:\n        allow:\n        - 'a'\n        - \"b\"  # c\n      put: {}\n",
            "\n      get:\n        allow:\n        - 'a'\n        - \"b\"  # c\n        c_hint: "
            "{payload_size: 512}\n      put: {}\n"},
        EditRow{"crlf_at_the_end_of_file", kSetSize, "\r\n      get:\r\n        oneway: true",
                "\r\n      get:\r\n        oneway: true\r\n        c_hint: {payload_size: 512}"}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Remove, ManifestEdit,
    testing::Values(
        EditRow{"absent", kRemoveSize, " {get: {s_hint: {payload_size: 1}}}",
                " {get: {s_hint: {payload_size: 1}}}"},
        EditRow{"absent_from_group", kRemoveSize, " {get: {c_hint: {numa: any}}}",
                " {get: {c_hint: {numa: any}}}"},
        EditRow{"first", kRemoveSize, " {get: {c_hint: {payload_size: 1, numa: any}}}",
                " {get: {c_hint: {numa: any}}}"},
        EditRow{"middle", kRemoveSize,
                " {get: {c_hint: {numa: any, payload_size: 1 , polling: busy}}}",
                " {get: {c_hint: {numa: any, polling: busy}}}"},
        EditRow{"last", kRemoveSize, " {get: {c_hint: {numa: any, payload_size: 1 }}}",
                " {get: {c_hint: {numa: any }}}"},
        EditRow{"only", kRemoveSize, " {get: {c_hint: {payload_size: 1}, oneway: true}}",
                " {get: {c_hint: {}, oneway: true}}"},
        EditRow{"flow_keeps_comments", kRemoveSize,
                " {get: {c_hint: {numa: any,  # a\n   payload_size: 1  # b\n  }}}",
                " {get: {c_hint: {numa: any,  # a\n     # b\n  }}}"},
        EditRow{"flow_keeps_the_comment_after_the_comma", kRemoveSize,
                " {get: {c_hint: {payload_size: 1, # a\n   numa: any}}}",
                " {get: {c_hint: { # a\n   numa: any}}}"},
        EditRow{"block", kRemoveSize,
                "\n      get:\n        c_hint:\n          # a\n          payload_size: 1  # b\n"
                "          numa: any  # c\n",
                "\n      get:\n        c_hint:\n          # a\n          numa: any  # c\n"},
        EditRow{"block_only", kRemoveSize,
                "\n      get:\n        c_hint:  # a\n          # b\n          payload_size: 1\n"
                "        oneway: true\n",
                "\n      get:\n        c_hint: {}  # a\n          # b\n        oneway: true\n"},
        EditRow{"end_of_file", kRemoveSize,
                "\r\n      get:\r\n        c_hint:\r\n          payload_size: 1",
                "\r\n      get:\r\n        c_hint: {}"},
        EditRow{"both_spellings", edit_of_get("hint", "protocol", std::nullopt),
                " {get: {hint: {proto: rfp, numa: any, protocol: herd}}}",
                " {get: {hint: {numa: any}}}"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(EditManifest, AppliesEditsInTheirOrder) {
  const std::vector<HintEdit> edits = {kSetGoal, kSetSize, edit_of_get("c_hint", "numa", "any"),
                                       kRemoveSize, edit_of_get("s_hint", "payload_size", "4KiB")};
  const auto edited = edit_manifest(manifest_with("\n      get: {}\n"), "m.yaml", edits);
  ASSERT_TRUE(edited) << edited.error().message;
  EXPECT_EQ(*edited, manifest_with("\n      get: {hint: {perf_goal: latency}, c_hint: {numa: any}, "
                                   "s_hint: {payload_size: 4KiB}}\n"));
}

TEST(EditManifest, KeepsAByteOrderMark) {
  const std::string mark = "\xEF\xBB\xBF";
  const auto edited = edit_manifest(mark + manifest_with(" {get: {}}"), "m.yaml", {&kSetSize, 1});
  ASSERT_TRUE(edited) << edited.error().message;
  EXPECT_EQ(*edited, mark + manifest_with(" {get: {c_hint: {payload_size: 512}}}"));
}

struct RefusedRow {
  const char* name;
  HintEdit edit;
  std::string text;
  const char* message;
};
std::ostream& operator<<(std::ostream& out, const RefusedRow& row) { return out << row.name; }

class RefusedEdit : public testing::TestWithParam<RefusedRow> {};

TEST_P(RefusedEdit, SaysWhy) {
  const auto& [name, edit, text, message] = GetParam();
  const auto edited = edit_manifest(text, "m.yaml", {&edit, 1});
  ASSERT_FALSE(edited) << *edited;
  EXPECT_THAT(edited.error().message, HasSubstr(message));
}

constexpr const char* kByHand = "edit the hints by hand";

INSTANTIATE_TEST_SUITE_P(
    Rows, RefusedEdit,
    testing::Values(
        RefusedRow{"no_manifest", kSetSize, "hatrpc_manifest: 1\n", "m.yaml:1:1: error:"},
        RefusedRow{"two_documents", kSetSize, manifest_with(" {get: {}}\n---\na: 1\n"),
                   "second YAML document"},
        RefusedRow{"no_service",
                   {"Vk", "get", "hint", "numa", "any"},
                   manifest_with(" {get: {}}"),
                   "m.yaml: the manifest has no service 'Vk'"},
        RefusedRow{"no_function",
                   {"Kv", "gte", "hint", "numa", "any"},
                   manifest_with(" {get: {}}"),
                   "m.yaml: the manifest does not list the function 'Kv.gte'"},
        RefusedRow{"no_group", edit_of_get("b_hint", "numa", "any"), manifest_with(" {get: {}}"),
                   "Kv.get: 'b_hint' is not a group of hints"},
        RefusedRow{"no_key", edit_of_get("hint", "nuam", "any"), manifest_with(" {get: {}}"),
                   "Kv.get: hint: unknown hint 'nuam' (did you mean 'numa'?)"},
        RefusedRow{"no_value", edit_of_get("hint", "numa", "any, polling: busy"),
                   manifest_with(" {get: {}}"), "Kv.get: hint: numa: 'any, polling: busy'"},
        RefusedRow{"alias_of_a_group", kSetSize,
                   manifest_with(" {put: {c_hint: &a {payload_size: 1}}, get: {c_hint: *a}}"),
                   kByHand},
        RefusedRow{"alias_of_a_function", kSetSize,
                   manifest_with("\n      put: &a\n        c_hint: {numa: any}\n      get: *a\n"),
                   kByHand},
        RefusedRow{"alias_of_a_value", kSetSize,
                   manifest_with(" {put: {c_hint: {payload_size: &a 1}}, get: {c_hint: "
                                 "{payload_size: *a}}}"),
                   kByHand},
        RefusedRow{"removal_of_an_alias", kRemoveSize,
                   manifest_with(" {put: {c_hint: {payload_size: &a 1}}, get: {c_hint: "
                                 "{payload_size: *a, numa: any}}}"),
                   kByHand},
        RefusedRow{"tag", kSetSize, manifest_with(" {get: {c_hint: !!map {}}}"), kByHand},
        RefusedRow{"block_scalar", kSetSize,
                   manifest_with("\n      get:\n        origin: |\n          x\n"), kByHand},
        RefusedRow{"explicit_key", kSetSize, manifest_with("\n      ? get\n      ? put"), kByHand}),
    [](const auto& row) { return std::string(row.param.name); });

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Manifest read_without_errors(const std::string& text) {
  Diagnostics diagnostics;
  Manifest manifest = read_manifest(text, "m.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  return manifest;
}

// Returns the lines of `text` that are only comments.
std::vector<std::string> comments_in(const std::string& text) {
  std::vector<std::string> comments;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos && line[begin] == '#') comments.push_back(line);
  }
  return comments;
}

// Chooses edits of functions of one manifest.
class RandomEdits {
 public:
  explicit RandomEdits(const Manifest& manifest) : manifest_(manifest) {}

  HintEdit next() {
    const ServiceSpec& service = one_of(manifest_.services);
    HintEdit edit{service.name, one_of(service.functions).name, one_of(groups_), "", {}};
    const auto& [key, value] = one_of(hints_);
    edit.key = key;
    if (random_() % 2 == 0) edit.value = value;
    return edit;
  }

 private:
  template <class List>
  const typename List::value_type& one_of(const List& list) {
    return list[random_() % list.size()];
  }

  const std::vector<std::string> groups_ = {"hint", "c_hint", "s_hint"};
  const std::vector<std::pair<std::string, std::string>> hints_ = {
      {"perf_goal", "latency"}, {"payload_size", "512B"}, {"polling", "event"},
      {"protocol", "rfp"},      {"numa", "any"},          {"idempotent", "true"}};
  const Manifest& manifest_;
  std::mt19937 random_{1};
};

Hints group_of(const FunctionSpec& function, const std::string& group) {
  if (group == "hint") return function.hints.both;
  return group == "c_hint" ? function.hints.client : function.hints.server;
}

TEST(EditManifest, AppliesRandomEditsToTheExamples) {
  const std::filesystem::path source = HAT_SOURCE_DIR;
  size_t manifests = 0;
  for (const auto& folder :
       {source / "config/examples", source / "tests/fuzz/corpus/config_fuzz"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::string text = text_of(entry.path());
      Diagnostics diagnostics;
      const Manifest manifest = read_manifest(text, entry.path(), diagnostics);
      if (diagnostics.any_errors() || manifest.services.empty()) continue;
      ++manifests;
      SCOPED_TRACE(entry.path());
      const auto comments = comments_in(text);
      const bool has_anchors = text.contains('&');
      RandomEdits edits(manifest);
      for (int i = 0; i < 200; ++i) {
        const HintEdit edit = edits.next();
        const auto edited = edit_manifest(text, "m.yaml", {&edit, 1});
        if (!edited && has_anchors) {
          EXPECT_EQ(edited.error().code, ErrorCode::kUnsupported) << edited.error().message;
          continue;
        }
        ASSERT_TRUE(edited) << edited.error().message << "\n" << text;
        text = *edited;
        const Manifest now = read_without_errors(text);
        const auto service = std::ranges::find(now.services, edit.service, &ServiceSpec::name);
        const auto function =
            std::ranges::find(service->functions, edit.function, &FunctionSpec::name);
        EXPECT_EQ(hint_value(group_of(*function, edit.group), edit.key), edit.value) << text;
        EXPECT_EQ(comments_in(text), comments);
      }
    }
  }
  EXPECT_GE(manifests, 2u);
}

}  // namespace
}  // namespace hat
