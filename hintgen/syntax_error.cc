// SPDX-License-Identifier: Apache-2.0
// hintgen/syntax_error.cc: shortens lists of expected tokens, and gives advice for words that only
// old versions of Thrift or Facebook's Thrift use.
#include "hintgen/syntax_error.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <initializer_list>

namespace hat::hintgen {
namespace {

using Words = std::vector<std::string_view>;

constexpr size_t kExpectedShownMax = 6;
constexpr size_t kFoundBytesMax = 40;

bool contains(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Replaces all `members` in `words` by `name`, if `words` has all of them.
void fold(Words& words, std::initializer_list<std::string_view> members, std::string_view name) {
  for (const std::string_view member : members) {
    if (!contains(words, member)) return;
  }
  std::erase_if(words, [&](std::string_view word) {
    return std::find(members.begin(), members.end(), word) != members.end();
  });
  words.push_back(name);
}

void fold_all(Words& words) {
  fold(words,
       {"a name",   "'namespace'", "'include'", "'cpp_include'", "'void'",      "'bool'",
        "'byte'",   "'i8'",        "'i16'",     "'i32'",         "'i64'",       "'double'",
        "'string'", "'binary'",    "'map'",     "'list'",        "'set'",       "'oneway'",
        "'async'",  "'typedef'",   "'struct'",  "'union'",       "'exception'", "'extends'",
        "'throws'", "'service'",   "'enum'",    "'const'",       "'required'",  "'optional'"},
       "a name");
  fold(words,
       {"'cpp_type'", "'xsd_all'", "'xsd_optional'", "'xsd_nillable'", "'xsd_attrs'", "a name"},
       "a name");
  fold(words,
       {"a name", "'bool'", "'byte'", "'i8'", "'i16'", "'i32'", "'i64'", "'double'", "'string'",
        "'binary'", "'map'", "'list'", "'set'"},
       "a type");
  fold(words, {"'void'", "'oneway'", "'async'", "a type"}, "a function");
  fold(words, {"'void'", "a type"}, "a type");
  fold(words, {"a type", "'required'", "'optional'", "an integer"}, "a field");
  fold(words, {"'required'", "'optional'", "a type"}, "a type");
  fold(words,
       {"'namespace'", "'include'", "'cpp_include'", "'typedef'", "'struct'", "'union'",
        "'exception'", "'service'", "'enum'", "'const'"},
       "a definition");
  fold(words, {"an integer", "a number", "a quoted string", "a name", "'['", "'{'"}, "a value");
  fold(words, {"an integer", "a number", "a quoted string", "a name"}, "a value");
}

struct Advice {
  std::string_view word;
  std::string_view text;
};

constexpr std::array kOtherWords = {
    Advice{"senum", "'senum' was removed from Thrift; use 'enum' or 'string'"},
    Advice{"cpp_namespace", "'cpp_namespace' was removed from Thrift; write 'namespace cpp NAME'"},
    Advice{"php_namespace", "'php_namespace' was removed from Thrift; write 'namespace php NAME'"},
    Advice{"py_module", "'py_module' was removed from Thrift; write 'namespace py NAME'"},
    Advice{"perl_package", "'perl_package' was removed from Thrift; write 'namespace perl NAME'"},
    Advice{"ruby_namespace", "'ruby_namespace' was removed from Thrift; write 'namespace rb NAME'"},
    Advice{
        "smalltalk_category",
        "'smalltalk_category' was removed from Thrift; write 'namespace smalltalk.category NAME'"},
    Advice{"smalltalk_prefix",
           "'smalltalk_prefix' was removed from Thrift; write 'namespace smalltalk.prefix NAME'"},
    Advice{"java_package", "'java_package' was removed from Thrift; write 'namespace java NAME'"},
    Advice{"cocoa_package",
           "'cocoa_package' was removed from Thrift; write 'namespace cocoa NAME'"},
    Advice{"xsd_namespace",
           "'xsd_namespace' was removed from Thrift; write 'namespace xsd \"URI\"'"},
    Advice{"csharp_namespace",
           "'csharp_namespace' was removed from Thrift; write 'namespace netstd NAME'"},
    Advice{"delphi_namespace",
           "'delphi_namespace' was removed from Thrift; write 'namespace delphi NAME'"},
    Advice{"package",
           "'package' is a header of Facebook's Thrift, which Apache Thrift does not read; write "
           "'namespace * NAME', or leave it out"},
    Advice{
        "hs_include",
        "'hs_include' is a header of Facebook's Thrift, which Apache Thrift does not read; write "
        "'include'"},
    Advice{"interaction",
           "'interaction' is a word of Facebook's Thrift, which Apache Thrift does not read; write "
           "'service'"},
};

std::string quoted(std::string_view found) {
  if (found.empty()) return "end of the file";
  if (found.size() <= kFoundBytesMax) return "'" + std::string(found) + "'";
  return "'" + std::string(found.substr(0, kFoundBytesMax)) + "…'";
}

std::string listed(const Words& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i != 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

// Returns a printable byte in quotes ('x'), and any other byte as a number ("byte 0x07").
std::string shown_byte(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  if (code > 0x20 && code < 0x7F) return std::string("'") + byte + "'";
  char text[16];
  std::snprintf(text, sizeof text, "byte 0x%02X", code);
  return text;
}

}  // namespace

std::string unknown_byte_text(char byte) {
  if (byte == '@') {
    return "'@' begins an annotation of Facebook's Thrift, which Apache Thrift does not read; "
           "write "
           "( name = \"value\" ) after the definition, or leave it out";
  }
  return "no token of Thrift IDL begins with " + shown_byte(byte);
}

std::string syntax_error_text(std::string_view found, Words expected) {
  fold_all(expected);
  const bool definition_expected = contains(expected, "a definition");
  if (definition_expected) {
    for (const Advice& other : kOtherWords) {
      if (other.word == found) return std::string(other.text);
    }
    if (found == ";" || found == ",") {
      return "unexpected " + quoted(found) + "; Thrift allows no separator here";
    }
  }
  std::string text = "unexpected " + quoted(found);
  if (expected.empty() || expected.size() > kExpectedShownMax) return text;
  text += "; expected " + listed(expected);
  if (expected.size() == 1 && expected[0] == "a quoted string") text += ", such as \"128\"";
  return text;
}

}  // namespace hat::hintgen
