// SPDX-License-Identifier: Apache-2.0
// hintgen/parse.h: parses the text of a file to a tree, with the whole Thrift grammar and HatRPC's
// hint groups.
//
// Errors   are added to `mistakes` with their source locations. After an error, parsing continues
//          at the next field, function or definition. The tree then has what could be read, and
//          `complete` is false.
// Bounds   kFileBytesMax of text, kNestingMax of nesting, kSyntaxErrorsMax messages.
// Thread   any; two parses share no data.
#pragma once

#include <memory>
#include <string>

#include "config/diagnostics.h"
#include "hintgen/idl.h"

namespace hat::hintgen {

inline constexpr int kSyntaxErrorsMax = 50;  // per file

std::unique_ptr<Program> parse(std::shared_ptr<const SourceFile> source, Diagnostics& diagnostics);

}  // namespace hat::hintgen
