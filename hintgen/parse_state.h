// SPDX-License-Identifier: Apache-2.0
// hintgen/parse_state.h: what the lexer and the grammar share while they read one file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hintgen/idl.h"
#include "hintgen/report.h"

namespace hat::hintgen {

class ParseState {
 public:
  ParseState(Program& to, Mistakes& mistakes)
      : program(to), mistakes_(mistakes), warnings_(to, mistakes) {}

  Program& program;
  void* scanner = nullptr;  // flex's own state

  // The lexer's position: `token` is the text that was matched last.
  void advance(size_t bytes);
  Span token;
  Span end() const;  // behind the last byte that is not white space

  // The parser has got `token`.
  void token_taken() { recent_ = {recent_[1], recent_[2], token}; }

  // Keeps track of brackets; false where they nest too deep, which ends the file.
  bool open_bracket(Span at);
  void close_bracket();

  // A mistake in the file's syntax. After kSyntaxErrorsMax of them the lexer sees the end.
  void syntax_error(Span at, std::string message);
  // The same for a token that the grammar did not expect.
  void unexpected_token(Span at, std::vector<std::string_view> expected);
  bool gave_up() const { return gave_up_; }
  void warning(Span at, std::string message) { warnings_.warning(at, std::move(message)); }

  std::string_view text(Span at) const { return program.source->text(at); }
  Name name(Span at) const { return Name{std::string(text(at)), at}; }

  // The lexer's conversions; what is wrong has been told when they return nothing.
  std::optional<int64_t> integer(Span at);
  std::optional<std::string> unquote(Span at);

  // The grammar's steps that do more than fill a member.
  void header_seen(Span at);
  void add_definition(std::variant<Const, Typedef, Enum, Struct, Service> value);
  void add_group(Service& service, HintGroup group);
  Type base_type(Span word, Annotations annotations);
  Type container(TypeKind kind, Span word, std::optional<Name> cpp_type,
                 std::vector<Type> elements);
  Name joined_value(Span number, Span unit);  // 128KiB comes as a number and a word

 private:
  Mistakes& mistakes_;
  Report warnings_;
  std::array<Span, 3> recent_;  // the tokens that the parser got last
  std::vector<Span> open_brackets_;
  std::optional<Span> last_error_;
  int syntax_errors_ = 0;
  bool gave_up_ = false;
};

void add_field(std::vector<Field>& fields, Field field);
void add_enum_member(std::vector<EnumMember>& members, EnumMember member);

}  // namespace hat::hintgen
