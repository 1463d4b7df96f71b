// SPDX-License-Identifier: Apache-2.0
#include "hintgen/header.h"

#include <algorithm>
#include <cctype>

namespace hat::hintgen {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Returns "HatKv" for "hat_kv".
std::string camel_case(const std::string& name) {
  std::string text;
  bool begins = true;
  for (const char c : name) {
    if (is_word(c)) {
      text += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    }
    begins = !is_word(c);
  }
  return text;
}

// Returns "a::b" if the IDL says `namespace cpp a.b`, or `namespace * a.b`, as the Thrift compiler
// does; empty if it says neither.
std::string cpp_namespace(const Program& program) {
  const auto named = [&](const std::string& scope) {
    return std::ranges::find_if(program.namespaces,
                                [&](const Namespace& each) { return each.scope.text == scope; });
  };
  auto found = named("cpp");
  if (found == program.namespaces.end()) found = named("*");
  if (found == program.namespaces.end()) return "";
  std::string text;
  for (const char c : found->name.text) text += c == '.' ? "::" : std::string(1, c);
  return text;
}

// Returns the lines that begin and end the namespace; C++11 has no `namespace a::b`.
std::string begin_of(const std::string& name) {
  std::string text;
  for (size_t from = 0; from < name.size();) {
    const size_t to = std::min(name.find("::", from), name.size());
    text += "namespace " + name.substr(from, to - from) + " {\n";
    from = to + 2;
  }
  return text;
}

std::string end_of(const std::string& begin) {
  std::string text;
  for (const char c : begin) {
    if (c == '{') text += "}\n";
  }
  return text;
}

// Returns `text` as a raw string literal, whose delimiter does not occur in the text.
std::string literal(const std::string& text) {
  std::string delimiter = "manifest";
  while (text.contains(")" + delimiter + "\"")) delimiter += "_";
  return "R\"" + delimiter + "(" + text + ")" + delimiter + "\"";
}

}  // namespace

std::string make_header(const Program& program, const std::string& manifest) {
  const std::string name = "k" + camel_case(program.name) + "Manifest";
  const std::string begin = begin_of(cpp_namespace(program));
  std::string guard = "HATRPC_" + cpp_namespace(program) + "_" + program.name + "_MANIFEST";
  for (char& c : guard) {
    c = is_word(c) ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : '_';
  }
  // C++ reserves names with two underscores.
  const auto both = [](char left, char right) { return left == '_' && right == '_'; };
  guard.erase(std::ranges::unique(guard, both).begin(), guard.end());
  return "// Written by hintgen --cpp from " + program.source->path() +
         ": its manifest, for hatrpc::RdmaOptions.\n#ifndef " + guard + "\n#define " + guard +
         "\n\n" + begin + "constexpr char " + name + "[] = " + literal(manifest) + ";\n" +
         end_of(begin) + "\n#endif\n";
}

}  // namespace hat::hintgen
