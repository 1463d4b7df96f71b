// SPDX-License-Identifier: Apache-2.0
// hintgen/hint_check.cc: converts the two spellings of hints to one form, and reports unknown and
// duplicate hints.
#include "hintgen/hint_check.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest_word.h"
#include "config/hint_values.h"
#include "hintgen/hint_spelling.h"
#include "hintgen/report.h"

namespace hat::hintgen {
namespace {

// Gathers the hints of one service or function.
class Gatherer {
 public:
  explicit Gatherer(Report& report) : report_(report) {}

  HintGroups gather(const std::vector<HintGroup>& groups, const Annotations& annotations) {
    for (const HintGroup& group : groups) add(group);
    for (const Annotation& annotation : annotations.items) add(annotation);
    return hints_;
  }

 private:
  // One hint that was read. `value` has only this hint set, and `key` is the key as written.
  struct Said {
    HintSide side;
    Hints value;
    Name key;
  };

  void add(const HintGroup& group) {
    const std::optional<HintSide> side = side_of_group(group.word.text);
    if (!side) {
      report_.error(group.word.at,
                    "unknown hint group '" + group.word.text + "'" +
                        did_you_mean(group.word.text, {kGroupWords.begin(), kGroupWords.end()}) +
                        "; expected hint, c_hint or s_hint");
      return;
    }
    for (const Hint& hint : group.hints) add(*side, hint.key, hint.key.text, hint.value);
  }

  void add(const Annotation& annotation) {
    if (!is_hint_annotation(annotation.key.text)) return;
    const std::optional<SidedKey> sided = split_annotation_key(annotation.key.text);
    if (!sided) {
      report_.error(annotation.key.at, "cannot read '" + annotation.key.text +
                                           "' as a hint; write hat.KEY, hat.client.KEY or "
                                           "hat.server.KEY");
    } else if (!annotation.value) {
      report_.error(annotation.key.at, "the hint '" + annotation.key.text + "' needs a value: " +
                                           annotation.key.text + " = \"VALUE\"");
    } else {
      add(sided->side, annotation.key, sided->key, *annotation.value);
    }
  }

  void add(HintSide side, const Name& written, const std::string& key, const Name& value) {
    Said said{side, {}, written};
    if (const auto set = set_hint(said.value, key, value.text); !set) {
      const Span at = is_hint_key(key) ? value.at : written.at;
      report_.error(at, set.error().message);
      return;
    }
    for (const Said& before : said_) {
      // `said.value` and `before.value` each set exactly one hint. If they set the same hint,
      // overlay() of them has only that hint, and equals `said.value`.
      const bool same_hint = before.side == side && overlay(said.value, before.value) == said.value;
      if (!same_hint) continue;
      if (before.value != said.value) {
        report_.error(written.at, "'" + written.text + "' contradicts '" + before.key.text +
                                      "' in " + report_.line_of(before.key.at) +
                                      "; keep one of them");
      }
      return;  // a repeated hint is not added, so `said_` has each hint only once
    }
    Hints& group = group_of(hints_, side);
    group = overlay(said.value, group);
    said_.push_back(std::move(said));
  }

  static Hints& group_of(HintGroups& groups, HintSide side) {
    switch (side) {
      case HintSide::kClient:
        return groups.client;
      case HintSide::kServer:
        return groups.server;
      case HintSide::kBoth:
        break;
    }
    return groups.both;
  }

  Report& report_;
  HintGroups hints_;
  std::vector<Said> said_;
};

// Warns of hints at places where hints have no effect (on a struct, for example), because the
// author probably meant them for a service or function.
class MisplacedHints {
 public:
  explicit MisplacedHints(Report& report) : report_(report) {}

  void operator()(const Const&) const {}
  void operator()(const Typedef& it) const { warn_of(it.annotations); }
  void operator()(const Enum& it) const {
    warn_of(it.annotations);
    for (const EnumMember& member : it.members) warn_of(member.annotations);
  }
  void operator()(const Struct& it) const {
    warn_of(it.annotations);
    warn_of(it.fields);
  }
  void operator()(const Service& it) const {
    for (const Function& function : it.functions) {
      warn_of(function.arguments);
      warn_of(function.exceptions);
    }
  }

 private:
  void warn_of(const std::vector<Field>& fields) const {
    for (const Field& field : fields) warn_of(field.annotations);
  }
  void warn_of(const Annotations& annotations) const {
    for (const Annotation& annotation : annotations.items) {
      if (!is_hint_annotation(annotation.key.text)) continue;
      report_.warning(annotation.key.at, "'" + annotation.key.text +
                                             "' has no effect here; hints belong to services "
                                             "and functions");
    }
  }

  Report& report_;
};

}  // namespace

void read_hints(Idl& idl, Diagnostics& diagnostics) {
  for (const auto& program : idl.programs) {
    Report report(*program, diagnostics);
    for (const auto& definition : program->definitions) {
      std::visit(MisplacedHints(report), definition->value);
      auto* service = std::get_if<Service>(&definition->value);
      if (service == nullptr) continue;
      service->hints = Gatherer(report).gather(service->groups, service->annotations);
      for (Function& function : service->functions) {
        function.hints = Gatherer(report).gather(function.groups, function.annotations);
      }
    }
  }
}

}  // namespace hat::hintgen
