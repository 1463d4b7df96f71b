// SPDX-License-Identifier: Apache-2.0
// hintgen/rewrite_test.cc: tests strip() and annotate() with examples and with random files.
#include "hintgen/rewrite.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "hintgen/compile_text.h"
#include "hintgen/dump.h"
#include "hintgen/emit.h"
#include "hintgen/random_idl.h"

namespace hat::hintgen {
namespace {

constexpr uint32_t kRandomFiles = 1000;

Compiled compile_good(const std::string& text) {
  Compiled compiled = compile_text(text);
  EXPECT_FALSE(compiled.diagnostics.any_errors()) << compiled.messages() << "\n---\n" << text;
  return compiled;
}

std::string stripped(const std::string& text) { return strip(*compile_good(text).idl.main); }
std::string annotated(const std::string& text) { return annotate(*compile_good(text).idl.main); }

// ---- examples ----

struct StripRow {
  const char* name;
  const char* text;
  const char* expected;
};
std::ostream& operator<<(std::ostream& out, const StripRow& row) { return out << row.name; }

class Strip : public testing::TestWithParam<StripRow> {};

TEST_P(Strip, KeepsEverythingElse) { EXPECT_EQ(stripped(GetParam().text), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(
    Rows, Strip,
    testing::Values(StripRow{"comments_and_lines",
                             "// a comment\nservice S {\n  hint: perf_goal=latency;\n"
                             "  void f() [ hint: polling=busy; ]  // after\n}\n",
                             "// a comment\nservice S {\n\n  void f()   // after\n}\n"},
                    StripRow{"separator_before_and_blanks_after",
                             "service S {\n  void f(), [hint: numa=nic;] \n  void g()\n}\n",
                             "service S {\n  void f(),\n  void g()\n}\n"},
                    StripRow{"separators_on_both_sides",
                             "service S {\n  void f(); [hint: numa=nic;] , \n  void g()\n}\n",
                             "service S {\n  void f();\n  void g()\n}\n"},
                    StripRow{"separator_after", "service S {\n  void f() [hint: numa=nic;], \n}\n",
                             "service S {\n  void f() , \n}\n"},
                    StripRow{"blanks_to_the_end_of_the_file", "service S { hint: numa=nic; }  ",
                             "service S {  }  "},
                    StripRow{"blanks_that_end_a_comment",
                             "service S {\n  hint: // why  \n    numa=nic;\n}\n",
                             "service S {\n  // why  \n\n}\n"}),
    [](const auto& row) { return row.param.name; });

TEST(Annotate, JoinsTheAnnotationsThatAreThere) {
  EXPECT_EQ(
      annotated("service S {\n  void f() ( deprecated = \"yes\" ), [ hint: numa=nic; ] \n}\n"),
      "service S {\n  void f() ( deprecated = \"yes\", hat.numa = \"nic\" ),\n}\n");
}

// ---- random files ----

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string without_blanks(std::string line) {
  std::erase_if(line, [](char c) { return c == ' ' || c == '\t'; });
  return line;
}

std::vector<std::string> comments_of(const Compiled& compiled) {
  std::vector<std::string> comments;
  for (const Span comment : compiled.idl.main->comments) {
    comments.emplace_back(compiled.idl.main->source->text(comment));
  }
  return comments;
}

Manifest manifest_of(const Compiled& compiled) {
  Manifest manifest = make_manifest(compiled.idl);
  for (ServiceSpec& service : manifest.services) {
    service.origin.clear();
    for (FunctionSpec& function : service.functions) function.origin.clear();
  }
  return manifest;
}

// Removes what annotate() inserted into one pair of brackets; `before` are the original
// annotations.
void erase_hints(std::string& text, const Annotations& after, const Annotations& before) {
  if (after.items.size() == before.items.size()) return;
  uint32_t begin = after.at.begin - 1, end = after.at.end;  // the whole " ( … )"
  if (!before.at.empty()) {
    begin = after.at.begin + (before.items.back().at.end - before.at.begin);
    end = after.items.back().at.end;
  }
  text.erase(begin, end - begin);
}

// Removes everything that annotate() inserted. Works from the end of the file to its beginning, so
// that no offset changes before its use.
std::string without_annotations(const Compiled& after, const Compiled& before) {
  std::string text = after.idl.main->source->text();
  const auto& definitions = after.idl.main->definitions;
  for (size_t i = definitions.size(); i-- > 0;) {
    const auto* service = std::get_if<Service>(&definitions[i]->value);
    if (service == nullptr) continue;
    const auto& original = std::get<Service>(before.idl.main->definitions[i]->value);
    erase_hints(text, service->annotations, original.annotations);
    for (size_t f = service->functions.size(); f-- > 0;) {
      erase_hints(text, service->functions[f].annotations, original.functions[f].annotations);
    }
  }
  return text;
}

class RandomFile : public testing::Test {
 protected:
  // Calls `check(random)` for each seed, until one fails.
  template <class Check>
  void for_each_file(const Check& check) {
    for (uint32_t seed = 1; seed <= kRandomFiles && !HasFailure(); ++seed) {
      const RandomIdl random(seed);
      SCOPED_TRACE("seed " + std::to_string(seed) + ":\n" + random.with_hints());
      check(random);
    }
  }
};

TEST_F(RandomFile, StripsToItselfWithoutHints) {
  for_each_file([](const RandomIdl& random) {
    const Compiled with = compile_good(random.with_hints());
    const std::string plain = strip(*with.idl.main);
    const Compiled without = compile_good(random.without_hints());
    const Compiled again = compile_good(plain);

    const auto lines = lines_of(plain), expected = lines_of(random.without_hints());
    ASSERT_EQ(lines.size(), expected.size()) << plain;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (random.hint_lines().contains(i)) {
        EXPECT_EQ(without_blanks(lines[i]), without_blanks(expected[i])) << plain;
      } else {
        EXPECT_EQ(lines[i], expected[i]) << plain;
      }
    }
    EXPECT_EQ(comments_of(again), comments_of(with));
    EXPECT_EQ(dump_json(*again.idl.main), dump_json(*without.idl.main));
    EXPECT_EQ(strip(*again.idl.main), plain) << "a second strip changes something";
    EXPECT_EQ(strip(*without.idl.main), random.without_hints()) << "there was nothing to strip";
    EXPECT_EQ(annotate(*without.idl.main), random.without_hints()) << "nothing to annotate";
  });
}

TEST_F(RandomFile, AnnotatesToTheSameMeaning) {
  for_each_file([](const RandomIdl& random) {
    const Compiled with = compile_good(random.with_hints());
    const std::string text = annotate(*with.idl.main);
    const Compiled again = compile_good(text);
    EXPECT_EQ(manifest_of(again), manifest_of(with)) << text;
    EXPECT_EQ(annotate(*again.idl.main), text) << "a second annotate changes something";
    EXPECT_EQ(strip(*again.idl.main), text) << "no native hint is left to strip";
  });
}

TEST_F(RandomFile, WithoutItsAnnotationsIsTheStrippedOne) {
  for_each_file([](const RandomIdl& random) {
    const Compiled with = compile_good(random.with_hints());
    const Compiled again = compile_good(annotate(*with.idl.main));
    EXPECT_EQ(without_annotations(again, with), strip(*with.idl.main));
  });
}

}  // namespace
}  // namespace hat::hintgen
