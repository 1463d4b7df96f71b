// SPDX-License-Identifier: Apache-2.0
// config/manifest_edit.h: changes hints in the text of a manifest, and keeps the rest of the text
// byte for byte: comments, order, quotes, indentation, line ends.
//
// People and hintgen write manifests, so a program that changes a hint must not write the whole
// file again. edit_manifest() replaces, inserts or removes only the characters of the hint. It then
// reads the new text, and returns an error unless the new manifest is the old one with exactly the
// edits applied. So a YAML construct that it does not understand (an alias, for example, by which
// two functions share their hints) leads to an error and never to a wrong manifest.
//
// Source: https://yaml.org/spec/1.2.2/ for the forms of mappings and scalars
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hat {

// A change of one hint in one group of a function.
struct HintEdit {
  std::string service;
  std::string function;
  std::string group;                 // "hint", "c_hint" or "s_hint"
  std::string key;                   // of config/hint_keys.h
  std::optional<std::string> value;  // nullopt: remove the hint, if the group has it
};

// Returns `text`, the contents of the manifest `file`, with all edits applied in their order. A new
// group is written after the other groups of the function, as `c_hint: {payload_size: 512}`. A
// group whose last hint is removed stays, as `{}`. Errors: `text` is not a valid manifest; an edit
// names a service, function, group, hint or value that does not exist; or the text has a form that
// edit_manifest() cannot change. The message has the file, and a line if that helps.
Result<std::string> edit_manifest(std::string_view text, std::string_view file,
                                  std::span<const HintEdit> edits);

}  // namespace hat
