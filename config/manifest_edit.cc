// SPDX-License-Identifier: Apache-2.0
#include "config/manifest_edit.h"

#include <algorithm>
#include <array>
#include <vector>

#include "config/hint_values.h"
#include "config/manifest.h"
#include "config/yaml.h"

namespace hat {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::array<std::string_view, 3> kGroups = {"hint", "c_hint", "s_hint"};
constexpr std::string_view kBlanks = " \t";

// One key of a mapping, with its value.
struct Entry {
  YAML::Node key;
  YAML::Node value;
};

std::vector<Entry> entries_of(const YAML::Node& map) {
  std::vector<Entry> entries;
  if (!map.IsMap()) return entries;
  for (const auto& entry : map) entries.push_back({entry.first, entry.second});
  return entries;
}

std::optional<Entry> find_entry(const YAML::Node& map, std::string_view name) {
  for (Entry& entry : entries_of(map)) {
    if (entry.key.IsScalar() && entry.key.Scalar() == name) return std::move(entry);
  }
  return std::nullopt;
}

bool is_flow(const YAML::Node& collection) {
  return collection.Style() == YAML::EmitterStyle::Flow;
}

size_t begin_of(const YAML::Node& node) { return static_cast<size_t>(node.Mark().pos); }

// A part of the text, from `begin` to before `end`.
struct Extent {
  size_t begin = 0;
  size_t end = 0;
};

std::unexpected<Error> cannot_edit(const std::string& location) {
  return fail(ErrorCode::kUnsupported,
              location +
                  ": a program cannot edit these hints, because the file uses a form of YAML "
                  "such as aliases (`*name`) or tags; edit the hints by hand");
}

// Finds nodes of a YAML document in its text, and changes the text there. yaml-cpp has only the
// position at which a node begins, so the end of a node is found in the text. A form that this
// class does not know is an error.
class ManifestText {
 public:
  ManifestText(std::string text, std::string file)
      : text_(std::move(text)), file_(std::move(file)) {}

  const std::string& text() const { return text_; }

  Result<void> apply(const HintEdit& edit);

 private:
  // An entry of the mapping that is the value of `owner`.
  struct Position {
    Entry owner;
    std::vector<Entry> entries;  // of owner.value
    size_t index = 0;
  };

  std::unexpected<Error> unknown_form(size_t at) const;
  Result<size_t> end_of_scalar(const YAML::Node& scalar) const;
  Result<size_t> end_of_collection(const YAML::Node& collection) const;
  Result<size_t> end_of(const Entry& entry) const;
  Result<Extent> extent_of_null(const YAML::Node& key) const;
  Result<std::string> indentation_of(const YAML::Node& key) const;
  std::string line_end() const { return text_.contains("\r\n") ? "\r\n" : "\n"; }
  size_t skip(std::string_view characters, size_t from) const {
    return std::min(text_.find_first_not_of(characters, from), text_.size());
  }
  void replace(Extent extent, std::string_view with) {
    text_.replace(extent.begin, extent.end - extent.begin, with);
  }

  Result<void> set_scalar(const YAML::Node& scalar, const std::string& value);
  Result<void> add_to_null(const YAML::Node& key, const std::string& added);
  Result<void> add_after(const YAML::Node& map, const Entry& before, const std::string& added);
  Result<void> add(const Entry& owner, const std::optional<Entry>& before,
                   const std::string& added);
  Result<void> remove_from_flow(const Position& position);
  Result<void> remove_lines(const Position& position);

  std::string text_;
  const std::string file_;
};

std::unexpected<Error> ManifestText::unknown_form(size_t at) const {
  const auto line = 1 + std::ranges::count(std::string_view(text_).substr(0, at), '\n');
  return cannot_edit(file_ + ":" + std::to_string(line));
}

Result<size_t> ManifestText::end_of_scalar(const YAML::Node& scalar) const {
  const size_t begin = begin_of(scalar);
  const char quote = begin < text_.size() ? text_[begin] : '\0';
  if (quote != '"' && quote != '\'') {
    const std::string& value = scalar.Scalar();
    if (text_.compare(begin, value.size(), value) != 0) return unknown_form(begin);
    return begin + value.size();
  }
  for (size_t at = begin + 1; at < text_.size(); ++at) {
    const bool escapes = quote == '"' ? text_[at] == '\\' : text_.compare(at, 2, "''") == 0;
    if (escapes) {
      ++at;
    } else if (text_[at] == quote) {
      return at + 1;
    }
  }
  return unknown_form(begin);
}

// Returns the end of the collection's last character: of the closing bracket, or, in block style,
// of the last item.
Result<size_t> ManifestText::end_of_collection(const YAML::Node& collection) const {
  size_t end = begin_of(collection) + 1;
  const std::vector<Entry> entries = entries_of(collection);
  if (!entries.empty()) {
    HAT_TRY(end, end_of(entries.back()));
  } else if (collection.size() != 0) {
    const YAML::Node last = collection[collection.size() - 1];
    HAT_TRY(end, last.IsScalar() ? end_of_scalar(last) : end_of_collection(last));
  }
  if (!is_flow(collection)) return end;
  const char open = collection.IsMap() ? '{' : '[';
  if (text_[begin_of(collection)] != open) return unknown_form(begin_of(collection));
  for (;;) {
    end = skip(" \t\r\n,", end);
    if (end == text_.size()) return unknown_form(begin_of(collection));
    if (text_[end] != '#') break;
    end = std::min(text_.find('\n', end), text_.size());
  }
  const char close = collection.IsMap() ? '}' : ']';
  return text_[end] == close ? Result<size_t>(end + 1) : unknown_form(end);
}

// Returns the place of the value of `key`, which is null: of a word such as `~`, or, if there is no
// word, the empty extent after the colon. Without a colon, as in {get, put}: after the key.
Result<Extent> ManifestText::extent_of_null(const YAML::Node& key) const {
  HAT_TRY(const size_t key_end, end_of_scalar(key));
  const size_t colon = skip(kBlanks, key_end);
  if (colon == text_.size() || text_[colon] != ':') return Extent{key_end, key_end};
  const size_t begin = skip(kBlanks, colon + 1);
  for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
    if (text_.compare(begin, word.size(), word) == 0) return Extent{begin, begin + word.size()};
  }
  return Extent{colon + 1, colon + 1};
}

// Returns the end of the entry's value.
Result<size_t> ManifestText::end_of(const Entry& entry) const {
  if (entry.value.IsNull()) {
    HAT_TRY(const Extent null, extent_of_null(entry.key));
    return null.end;
  }
  HAT_TRY(const size_t end,
          entry.value.IsScalar() ? end_of_scalar(entry.value) : end_of_collection(entry.value));
  // The position of an alias is that of its anchor, which is before the key.
  return end < begin_of(entry.key) ? unknown_form(begin_of(entry.key)) : Result<size_t>(end);
}

// Returns the spaces before `key`, which is a key of a block mapping.
Result<std::string> ManifestText::indentation_of(const YAML::Node& key) const {
  const size_t at = begin_of(key);
  const size_t line = at == 0 ? 0 : text_.rfind('\n', at - 1) + 1;
  if (skip(" ", line) != at) return unknown_form(at);
  return text_.substr(line, at - line);
}

Result<void> ManifestText::set_scalar(const YAML::Node& scalar, const std::string& value) {
  HAT_TRY(const size_t end, end_of_scalar(scalar));
  const size_t quotes = text_[end - 1] == '"' || text_[end - 1] == '\'' ? 1 : 0;
  replace({begin_of(scalar) + quotes, end - quotes}, value);
  return {};
}

// Writes `added` as the first entry of the mapping of `key`, which has no value yet.
Result<void> ManifestText::add_to_null(const YAML::Node& key, const std::string& added) {
  HAT_TRY(const Extent null, extent_of_null(key));
  const char before = text_[null.begin - 1];
  const char* separator = before == ':' ? " " : kBlanks.contains(before) ? "" : ": ";
  replace(null, separator + ("{" + added + "}"));
  return {};
}

// Writes `added` after the entry `before` of `map`.
Result<void> ManifestText::add_after(const YAML::Node& map, const Entry& before,
                                     const std::string& added) {
  HAT_TRY(const size_t end, end_of(before));
  if (is_flow(map)) {
    text_.insert(end, ", " + added);
    return {};
  }
  HAT_TRY(const std::string indentation, indentation_of(before.key));
  const size_t line = text_.find('\n', end);
  if (line == std::string::npos) {
    text_ += line_end() + indentation + added;
  } else {
    text_.insert(line + 1, indentation + added + line_end());
  }
  return {};
}

// Writes `added` into the mapping of `owner`: after `before`, or at the end if that is nullopt.
Result<void> ManifestText::add(const Entry& owner, const std::optional<Entry>& before,
                               const std::string& added) {
  if (owner.value.IsNull()) return add_to_null(owner.key, added);
  const std::vector<Entry> entries = entries_of(owner.value);
  if (!entries.empty()) return add_after(owner.value, before.value_or(entries.back()), added);
  const size_t begin = begin_of(owner.value);
  if (text_[begin] != '{') return unknown_form(begin);
  text_.insert(begin + 1, added);
  return {};
}

// Removes an entry and one comma from a mapping in flow style. Keeps comments: if one is beside the
// comma, the comma stays, because YAML permits one after the last entry.
Result<void> ManifestText::remove_from_flow(const Position& position) {
  const Entry& entry = position.entries[position.index];
  Extent removed{begin_of(entry.key), 0};
  HAT_TRY(removed.end, end_of(entry));
  const size_t comma = skip(kBlanks, removed.end);
  if (comma < text_.size() && text_[comma] == ',') {
    const size_t next = skip(kBlanks, comma + 1);
    const bool is_comment = next < text_.size() && text_[next] == '#';
    removed.end = is_comment ? comma + 1 : next;
  } else if (position.index > 0) {
    HAT_TRY(const size_t before, end_of(position.entries[position.index - 1]));
    if (skip(" \t,", before) == removed.begin) removed.begin = before;
  }
  replace(removed, "");
  return {};
}

// Removes an entry from a mapping in block style, with the lines that it occupies.
Result<void> ManifestText::remove_lines(const Position& position) {
  const Entry& entry = position.entries[position.index];
  HAT_TRY(const size_t end, end_of(entry));
  HAT_TRY(const std::string indentation, indentation_of(entry.key));
  Extent lines{begin_of(entry.key) - indentation.size(), text_.find('\n', end)};
  if (lines.end != std::string::npos) {
    ++lines.end;
  } else {  // the file's last line has no line end, so the line before loses its own
    lines = {text_.find_last_not_of("\r\n", lines.begin - 1) + 1, text_.size()};
  }
  replace(lines, "");
  if (position.entries.size() > 1) return {};
  HAT_TRY(const size_t key_end, end_of_scalar(position.owner.key));
  const size_t colon = text_.find(':', key_end);
  text_.insert(std::min(colon, text_.size() - 1) + 1, " {}");
  return {};
}

// Returns true if `entry` sets the hint `key`, by its name or by its older spelling.
bool sets_hint(const Entry& entry, std::string_view key) {
  Hints hints;
  const bool is_set = entry.key.IsScalar() && entry.value.IsScalar() &&
                      set_hint(hints, entry.key.Scalar(), entry.value.Scalar()).has_value();
  return is_set && hint_value(hints, key).has_value();
}

Result<void> ManifestText::apply(const HintEdit& edit) {
  Diagnostics diagnostics;
  const auto document = parse_yaml(text_, file_, diagnostics);
  if (!document) return cannot_edit(file_);  // an edit before this one has broken the text
  std::optional<Entry> function = find_entry(document->node, "services");
  for (const std::string_view name : {std::string_view(edit.service), std::string_view("functions"),
                                      std::string_view(edit.function)}) {
    if (function) function = find_entry(function->value, name);
  }
  if (!function) return cannot_edit(file_);
  const auto group = find_entry(function->value, edit.group);
  if (!group) {
    if (!edit.value) return {};
    std::optional<Entry> last_group;
    for (const Entry& entry : entries_of(function->value)) {
      if (std::ranges::find(kGroups, entry.key.Scalar()) != kGroups.end()) last_group = entry;
    }
    return add(*function, last_group, edit.group + ": {" + edit.key + ": " + *edit.value + "}");
  }
  const std::vector<Entry> entries = entries_of(group->value);
  // If both spellings of the key are present, the last one holds.
  for (size_t i = entries.size(); i-- > 0;) {
    if (!sets_hint(entries[i], edit.key)) continue;
    if (edit.value) return set_scalar(entries[i].value, *edit.value);
    const Position position{*group, entries, i};
    HAT_TRY_VOID(is_flow(group->value) ? remove_from_flow(position) : remove_lines(position));
    return apply(edit);  // removes the other spelling
  }
  if (!edit.value) return {};
  return add(*group, std::nullopt, edit.key + ": " + *edit.value);
}

Result<Manifest> parse_manifest(const std::string& text, const std::string& file) {
  Diagnostics diagnostics;
  Manifest manifest = read_manifest(text, file, diagnostics);
  if (diagnostics.any_errors()) return fail(ErrorCode::kInvalid, diagnostics.text());
  return manifest;
}

// Applies `edit` to the manifest that was read from the text.
Result<void> apply(const HintEdit& edit, Manifest& manifest) {
  const std::string name = edit.service + "." + edit.function;
  const auto service = std::ranges::find(manifest.services, edit.service, &ServiceSpec::name);
  if (service == manifest.services.end()) {
    return fail(ErrorCode::kNotFound, "the manifest has no service " + in_quotes(edit.service));
  }
  const auto function = std::ranges::find(service->functions, edit.function, &FunctionSpec::name);
  if (function == service->functions.end()) {
    return fail(ErrorCode::kNotFound, "the manifest does not list the function " + in_quotes(name) +
                                          "; list it, or run hintgen");
  }
  HintGroups& groups = function->hints;
  const std::array<Hints*, 3> hints = {&groups.both, &groups.client, &groups.server};
  const auto group = std::ranges::find(kGroups, edit.group);
  if (group == kGroups.end()) {
    return fail(ErrorCode::kInvalid, name + ": " + in_quotes(edit.group) +
                                         " is not a group of hints; expected hint, c_hint or "
                                         "s_hint");
  }
  Hints& changed = *hints[static_cast<size_t>(group - kGroups.begin())];
  const Result<void> done =
      edit.value ? set_hint(changed, edit.key, *edit.value) : clear_hint(changed, edit.key);
  if (!done) return std::unexpected(in(name + ": " + edit.group, done.error()));
  return {};
}

}  // namespace

Result<std::string> edit_manifest(std::string_view text, std::string_view file,
                                  std::span<const HintEdit> edits) {
  const std::string name(file);
  HAT_TRY(Manifest expected, parse_manifest(std::string(text), name));
  // yaml-cpp counts positions from the first character after a byte order mark.
  const std::string_view mark = text.starts_with(kByteOrderMark) ? kByteOrderMark : "";
  ManifestText edited(std::string(text.substr(mark.size())), name);
  for (const HintEdit& edit : edits) {
    if (auto applied = apply(edit, expected); !applied) {
      return std::unexpected(in(file, std::move(applied.error())));
    }
    HAT_TRY_VOID(edited.apply(edit));
  }
  const std::string result = std::string(mark) + edited.text();
  const auto manifest = parse_manifest(result, name);
  if (!manifest || *manifest != expected) return cannot_edit(name);
  return result;
}

}  // namespace hat
