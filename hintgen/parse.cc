// SPDX-License-Identifier: Apache-2.0
// hintgen/parse.cc: runs the lexer and the grammar over a file, and implements the actions of their
// rules.
#include "hintgen/parse.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "config/hint_values.h"
#include "hintgen/hint_syntax.h"
#include "hintgen/parse_state.h"
#include "hintgen/syntax_error.h"

namespace hat::hintgen {

void run_parser(ParseState& state);  // in lexer.l, the only file that knows flex's types

namespace {

struct BaseWord {
  std::string_view word;
  TypeKind kind;
};
constexpr std::array kBaseWords = {
    BaseWord{"void", TypeKind::kVoid},     BaseWord{"bool", TypeKind::kBool},
    BaseWord{"byte", TypeKind::kI8},       BaseWord{"i8", TypeKind::kI8},
    BaseWord{"i16", TypeKind::kI16},       BaseWord{"i32", TypeKind::kI32},
    BaseWord{"i64", TypeKind::kI64},       BaseWord{"double", TypeKind::kDouble},
    BaseWord{"string", TypeKind::kString}, BaseWord{"binary", TypeKind::kBinary},
};

}  // namespace

void ParseState::advance(size_t bytes) {
  token_ = Span{token_.end, token_.end + static_cast<uint32_t>(bytes)};
}

Span ParseState::end() const {
  const size_t last = program_.source->text().find_last_not_of(" \t\r\n");
  const auto end = static_cast<uint32_t>(last == std::string::npos ? 0 : last + 1);
  return Span{end, end};
}

bool ParseState::open_bracket(Span at) {
  open_brackets_.push_back(at);
  if (open_brackets_.size() <= kNestingMax) return true;
  syntax_error(at, "brackets are nested more than " + std::to_string(kNestingMax) + " deep");
  gave_up_ = true;
  return false;
}

void ParseState::close_bracket() {
  if (!open_brackets_.empty()) open_brackets_.pop_back();
}

void ParseState::unexpected_token(Span at, std::vector<std::string_view> expected) {
  if (recent_[1] == last_error_) return;  // this error is only a consequence of the last error
  const TokensAtError tokens{text(recent_[0]), text(recent_[1]), text(at)};
  if (auto error = hint_syntax_error(tokens, expected)) {
    syntax_error(error->at_previous ? recent_[1] : at, std::move(error->message));
    return;
  }
  std::string message = syntax_error_text(text(at), std::move(expected));
  if (at.empty() && !open_brackets_.empty()) {  // the end of the file
    const Span open = open_brackets_.back();
    message = "unexpected end of the file; the '" + std::string(text(open)) + "' in line " +
              std::to_string(program_.source->location(open).line) + " is not closed";
  }
  syntax_error(at, std::move(message));
}

void ParseState::syntax_error(Span at, std::string message) {
  program_.complete = false;
  last_error_ = at;
  if (gave_up_) return;
  diagnostics_.error(program_.source->location(at), std::move(message));
  if (++syntax_errors_ < kSyntaxErrorsMax) return;
  diagnostics_.error(program_.source->location(at),
                     "too many errors; the rest of the file is not read");
  gave_up_ = true;
}

std::optional<int64_t> ParseState::integer(Span at) {
  const std::string digits(text(at));
  const bool hexadecimal = digits.find('x') != std::string::npos;
  errno = 0;
  const int64_t value = std::strtoll(digits.c_str(), nullptr, hexadecimal ? 16 : 10);
  if (errno != ERANGE) return value;
  syntax_error(at, "'" + digits + "' is out of range; Thrift's integers are from " +
                       std::to_string(INT64_MIN) + " to " + std::to_string(INT64_MAX));
  return std::nullopt;
}

std::optional<std::string> ParseState::unquote(Span at) {
  const std::string_view body = text(Span{at.begin + 1, at.end - 1});
  std::string value;
  value.reserve(body.size());
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      value += body[i];
      continue;
    }
    switch (body[++i]) {  // the lexer's rule guarantees a character after each backslash
      case 'r':
        value += '\r';
        break;
      case 'n':
        value += '\n';
        break;
      case 't':
        value += '\t';
        break;
      case '"':
        value += '"';
        break;
      case '\'':
        value += '\'';
        break;
      case '\\':
        value += '\\';
        break;
      default: {
        const uint32_t begin = at.begin + static_cast<uint32_t>(i);
        syntax_error(Span{begin, begin + 2},
                     "Thrift accepts only the escapes \\r \\n \\t \\\" \\' \\\\");
        return std::nullopt;
      }
    }
  }
  return value;
}

void ParseState::header_seen(Span at) {
  if (program_.definitions.empty()) return;
  syntax_error(at, "'" + std::string(text(at).substr(0, text(at).find_first_of(" \t\r\n"))) +
                       "' must come before the first definition");
}

void ParseState::add_definition(std::variant<Const, Typedef, Enum, Struct, Service> value) {
  program_.definitions.push_back(std::make_unique<Definition>(Definition{std::move(value)}));
}

void ParseState::add_group(Service& service, HintGroup group) {
  if (!service.functions.empty()) {
    warning(group.at, "these hints apply to the whole service; write them before its functions");
  }
  service.groups.push_back(std::move(group));
}

Type ParseState::base_type(Span word, Annotations annotations) {
  Type type{.name = name(word), .annotations = std::move(annotations)};
  for (const BaseWord& base : kBaseWords) {
    if (base.word == type.name.text) type.kind = base.kind;
  }
  return type;
}

Type ParseState::container(TypeKind kind, Span word, std::optional<Name> cpp_type,
                           std::vector<Type> elements) {
  return Type{.kind = kind,
              .name = name(word),
              .elements = std::move(elements),
              .cpp_type = std::move(cpp_type)};
}

Name ParseState::joined_value(Span number, Span unit) {
  const Span both{number.begin, unit.end};
  if (is_hint_key(text(unit))) {
    syntax_error(
        unit, "expected ',' before the next hint; write ', " + std::string(text(unit)) + "=VALUE'");
  } else if (number.end != unit.begin) {
    syntax_error(both, "write '" + std::string(text(number)) + std::string(text(unit)) +
                           "' without a space");
  }
  return Name{std::string(text(number)) + std::string(text(unit)), both};
}

void add_field(std::vector<Field>& fields, Field field) {
  const bool usable = field.written_id && field.written_id->value > 0;
  if (usable) {
    field.id = field.written_id->value;
  } else {
    const auto numbered = std::find_if(fields.rbegin(), fields.rend(),
                                       [](const Field& before) { return before.id < 0; });
    field.id = numbered == fields.rend() ? -1 : numbered->id - 1;
  }
  fields.push_back(std::move(field));
}

void add_enum_member(std::vector<EnumMember>& members, EnumMember member) {
  const int64_t automatic = members.empty() ? 0 : members.back().value + 1;
  member.value = member.written_value.value_or(automatic);
  members.push_back(std::move(member));
}

std::unique_ptr<Program> parse(std::shared_ptr<const SourceFile> source, Diagnostics& diagnostics) {
  auto program = std::make_unique<Program>();
  program->name = program_name(source->path());
  program->source = std::move(source);
  ParseState state(*program, diagnostics);
  run_parser(state);
  return program;
}

}  // namespace hat::hintgen
