// SPDX-License-Identifier: Apache-2.0
// hintgen/parse.h: a file's text to its tree, by the whole Thrift grammar and HatRPC's hint groups.
//
// Errors   go to `mistakes`, each with its place; after one, parsing goes on at the next field,
//          function or definition. The tree then holds what could be read, `complete` is false.
// Bounds   kFileBytesMax of text, kNestingMax of nesting, kSyntaxErrorsMax messages.
// Thread   any; parses share nothing.
#pragma once

#include <memory>
#include <string>

#include "config/mistakes.h"
#include "hintgen/idl.h"

namespace hat::hintgen {

inline constexpr int kSyntaxErrorsMax = 50;  // of one file

std::unique_ptr<Program> parse(std::shared_ptr<const SourceFile> source, Mistakes& mistakes);

}  // namespace hat::hintgen
