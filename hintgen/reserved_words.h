// SPDX-License-Identifier: Apache-2.0
// hintgen/reserved_words.h: the words that most of Thrift's generators refuse as names.
#pragma once

#include <string_view>

namespace hat::hintgen {

// Returns true if `word` is reserved. The grammar accepts reserved words as names; hintgen reads a
// file that uses one, but adds a warning.
// Source: Apache Thrift, doc/specs/idl.md, "Reserved keywords".
bool is_reserved_word(std::string_view word);

}  // namespace hat::hintgen
