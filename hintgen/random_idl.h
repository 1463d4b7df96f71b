// SPDX-License-Identifier: Apache-2.0
// hintgen/random_idl.h: generates small random IDL files with hints, and the same files without
// hints.
//
// For tests only. White space, comments, separators and hint blocks appear everywhere that the
// grammar allows. The same seed always generates the same file.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>

namespace hat::hintgen {

class RandomIdl {
 public:
  explicit RandomIdl(uint32_t seed) : random_(seed) {
    const uint32_t definition_count = 1 + below(3);
    for (uint32_t i = 0; i < definition_count; ++i) {
      gap(Context::kOutside);
      if (one_in(4)) {
        add_struct();
      } else {
        add_service();
      }
    }
    gap(Context::kOutside);
  }

  const std::string& with_hints() const { return with_; }
  // Returns the file without hints. Comments and line ends within a hint remain; spaces and tabs do
  // not.
  const std::string& without_hints() const { return without_; }
  // Returns the lines (from 0) of with_hints() that contain a part of a hint.
  const std::set<size_t>& hint_lines() const { return hint_lines_; }

 private:
  enum class Context : uint8_t { kOutside, kInHint };

  uint32_t below(uint32_t end) { return static_cast<uint32_t>(random_()) % end; }
  bool one_in(uint32_t count) { return below(count) == 0; }

  template <class Words>
  std::string_view one_of(const Words& words) {
    return words[below(static_cast<uint32_t>(words.size()))];
  }

  void put(std::string_view text, Context context) {
    for (const char c : text) {
      if (context == Context::kInHint) hint_lines_.insert(line_);
      with_ += c;
      if (c == '\n') ++line_;
    }
    if (context == Context::kOutside) without_ += text;
  }
  void put(std::string_view text) { put(text, Context::kOutside); }

  // Adds nothing, or some white space and comments.
  void gap(Context context) {
    constexpr std::array<std::string_view, 5> kBlanks = {" ", "  ", "\t", " \t ", "      "};
    constexpr std::array<std::string_view, 3> kLineEnds = {"\n", "\n\n", "\r\n"};
    constexpr std::array<std::string_view, 10> kComments = {"/* c */",
                                                            "/**/",
                                                            "/* two\n  lines */",
                                                            "// to the end\n",
                                                            "# shell  \n",
                                                            "//\t trailing \n",
                                                            "/* [hint: a=b;] */",
                                                            "// ] ;\n",
                                                            "/*  , ; */",
                                                            "// hint: x\r\n"};
    for (uint32_t count = below(4); count > 0; --count) {
      switch (below(6)) {
        case 0:
          put_kept(one_of(kLineEnds), context);
          break;
        case 1:
          put_kept(one_of(kComments), context);
          break;
        default:
          put(one_of(kBlanks), context);
      }
    }
  }

  // Adds a text that remains in the file when the surrounding hint is removed.
  void put_kept(std::string_view text, Context context) {
    put(text, context);
    if (context == Context::kInHint) without_ += text;
  }

  void put_separator(Context context) { put(one_in(2) ? "," : ";", context); }

  void add_struct() {
    put("struct N" + std::to_string(names_++) + " {");
    gap(Context::kOutside);
    put("1: i32 hint ");
    if (one_in(2)) put_separator(Context::kOutside);
    gap(Context::kOutside);
    put("2: string c_hint");
    gap(Context::kOutside);
    put("}");
  }

  void add_service() {
    put("service N" + std::to_string(names_++));
    gap(Context::kOutside);
    put("{");
    for (uint32_t count = below(5); count > 0; --count) {
      gap(Context::kOutside);
      if (one_in(3)) {
        add_group();
      } else {
        add_function();
      }
    }
    gap(Context::kOutside);
    put("}");
    if (one_in(4)) add_annotations();
  }

  void add_function() {
    constexpr std::array<std::string_view, 5> kHeads = {"void", "oneway void", "list<i32>",
                                                        "string", "map<i32, string>"};
    constexpr std::array<std::string_view, 4> kArguments = {"()", "( )", "(1: i32 a)",
                                                            "(1: i32 a, 2: list<string> b;)"};
    put(one_of(kHeads));
    put(" f" + std::to_string(names_++));
    gap(Context::kOutside);
    put(one_of(kArguments));
    if (one_in(4)) add_annotations();
    gap(Context::kOutside);
    const bool separated = one_in(2);
    if (separated) put_separator(Context::kOutside);
    if (one_in(3)) return;
    if (separated) gap(Context::kOutside);
    add_block();
    if (one_in(2)) return;
    gap(Context::kOutside);
    // Plain Thrift accepts only one separator after a function. If a separator came before the hint
    // block, this second one belongs to the hints: without_hints() must not have it.
    put_separator(separated ? Context::kInHint : Context::kOutside);
  }

  void add_annotations() {
    constexpr std::array<std::string_view, 4> kItems = {"a = \"1\"", "a", "a = \"x\",", "a;"};
    gap(Context::kOutside);
    put("(");
    gap(Context::kOutside);
    put(one_of(kItems));
    gap(Context::kOutside);
    if (one_in(2)) put(" b = '2' ");
    put(")");
  }

  void add_block() {
    put("[", Context::kInHint);
    for (uint32_t count = below(3); count > 0; --count) {
      gap(Context::kInHint);
      add_group();
    }
    gap(Context::kInHint);
    put("]", Context::kInHint);
  }

  // Adds a hint group. A key has the same value in all groups, so no two hints contradict.
  void add_group() {
    constexpr std::array<std::string_view, 3> kWords = {"hint", "c_hint", "s_hint"};
    constexpr std::array<std::string_view, 4> kHints = {"perf_goal=latency", "payload_size=64KiB",
                                                        "numa =\tnic", "polling= \"busy\""};
    put(one_of(kWords), Context::kInHint);
    gap(Context::kInHint);
    put(":", Context::kInHint);
    for (uint32_t count = 1 + below(3); count > 0; --count) {
      gap(Context::kInHint);
      put(one_of(kHints), Context::kInHint);
      gap(Context::kInHint);
      put(count > 1 ? "," : ";", Context::kInHint);
    }
  }

  std::mt19937 random_;
  std::string with_;
  std::string without_;
  std::set<size_t> hint_lines_;
  size_t line_ = 0;
  uint32_t names_ = 0;
};

}  // namespace hat::hintgen
