// SPDX-License-Identifier: Apache-2.0
// hintgen/parse.h: parses the text of an IDL file to a tree (idl.h). Supports the whole Thrift
// grammar and the hint groups of the HatRPC paper.
//
// Errors   parse() adds errors to `diagnostics` with their source locations. After an error, it
//          continues at the next field, function or definition. The tree then has only the parts
//          that could be read, and Program::complete is false.
// Bounds   at most kFileBytesMax of text, kNestingMax levels of brackets and kSyntaxErrorsMax
//          errors.
// Thread   any thread can call parse(); two calls share no data.
#pragma once

#include <memory>
#include <string>

#include "config/diagnostics.h"
#include "hintgen/idl.h"

namespace hat::hintgen {

inline constexpr int kSyntaxErrorsMax = 50;  // per file

std::unique_ptr<Program> parse(std::shared_ptr<const SourceFile> source, Diagnostics& diagnostics);

}  // namespace hat::hintgen
