// SPDX-License-Identifier: Apache-2.0
// hintgen/reserved_words.h: the words that most of Thrift's generators refuse as names.
#pragma once

#include <string_view>

namespace hat::hintgen {

// Returns true if `word` is reserved. Reserved words are not part of the grammar: a file that uses
// one as a name is read, with a warning.
// Source: Apache Thrift, doc/specs/idl.md, "Reserved keywords".
bool is_reserved_word(std::string_view word);

}  // namespace hat::hintgen
