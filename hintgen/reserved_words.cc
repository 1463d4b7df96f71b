// SPDX-License-Identifier: Apache-2.0
// hintgen/reserved_words.cc: the list of reserved words.
#include "hintgen/reserved_words.h"

#include <algorithm>
#include <array>

namespace hat::hintgen {
namespace {

constexpr auto kWords = std::to_array<std::string_view>(
    {"BEGIN",        "END",        "__CLASS__",     "__DIR__",   "__FILE__",   "__FUNCTION__",
     "__LINE__",     "__METHOD__", "__NAMESPACE__", "abstract",  "alias",      "and",
     "args",         "as",         "assert",        "begin",     "break",      "case",
     "catch",        "class",      "clone",         "continue",  "declare",    "def",
     "default",      "del",        "delete",        "do",        "dynamic",    "elif",
     "else",         "elseif",     "elsif",         "end",       "enddeclare", "endfor",
     "endforeach",   "endif",      "endswitch",     "endwhile",  "ensure",     "except",
     "exec",         "finally",    "float",         "for",       "foreach",    "from",
     "function",     "global",     "goto",          "if",        "implements", "import",
     "in",           "inline",     "instanceof",    "interface", "is",         "lambda",
     "module",       "native",     "new",           "next",      "nil",        "not",
     "or",           "package",    "pass",          "print",     "private",    "protected",
     "public",       "raise",      "redo",          "register",  "rescue",     "retry",
     "return",       "self",       "sizeof",        "static",    "super",      "switch",
     "synchronized", "then",       "this",          "throw",     "transient",  "try",
     "undef",        "unless",     "unsigned",      "until",     "use",        "var",
     "virtual",      "volatile",   "when",          "while",     "with",       "xor",
     "yield"});
static_assert(std::is_sorted(kWords.begin(), kWords.end()), "for the binary search");

}  // namespace

bool is_reserved_word(std::string_view word) {
  return std::binary_search(kWords.begin(), kWords.end(), word);
}

}  // namespace hat::hintgen
