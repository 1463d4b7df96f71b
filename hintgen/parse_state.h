// SPDX-License-Identifier: Apache-2.0
// hintgen/parse_state.h: the state that the lexer and the grammar share while they read one file.
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
  ParseState(Program& to, Diagnostics& diagnostics)
      : program_(to), diagnostics_(diagnostics), warnings_(to, diagnostics) {}

  Program& program() { return program_; }
  // Returns the state of the lexer, which run_parser() in lexer.l sets and owns.
  void* scanner() const { return scanner_; }
  void set_scanner(void* scanner) { scanner_ = scanner; }

  // Moves the lexer forward: the next `bytes` bytes of the text become token().
  void advance(size_t bytes);
  Span token() const { return token_; }  // the last text that the lexer matched
  Span end() const;                      // after the last byte that is not white space

  // Records that the parser has received token().
  void token_taken() { recent_ = {recent_[1], recent_[2], token_}; }

  // Records an open bracket, which close_bracket() removes. Returns false if brackets are nested
  // too deeply; the lexer must then return the end of the file.
  bool open_bracket(Span at);
  void close_bracket();

  // Reports a syntax error. After kSyntaxErrorsMax errors the lexer returns the end of the file.
  void syntax_error(Span at, std::string message);
  // Reports a token that the grammar did not expect.
  void unexpected_token(Span at, std::vector<std::string_view> expected);
  bool gave_up() const { return gave_up_; }
  void warning(Span at, std::string message) { warnings_.warning(at, std::move(message)); }

  std::string_view text(Span at) const { return program_.source->text(at); }
  Name name(Span at) const { return Name{std::string(text(at)), at}; }

  // Converts a token to a number (integer()), or a literal to the text in its quotes (unquote()).
  // If the token is invalid, reports an error and returns nullopt.
  std::optional<int64_t> integer(Span at);
  std::optional<std::string> unquote(Span at);

  // The actions that the rules of the grammar call. A rule that only sets a member of the tree does
  // so itself.
  void header_seen(Span at);
  void add_definition(std::variant<Const, Typedef, Enum, Struct, Service> value);
  void add_group(Service& service, HintGroup group);
  Type base_type(Span word, Annotations annotations);
  Type container(TypeKind kind, Span word, std::optional<Name> cpp_type,
                 std::vector<Type> elements);
  // Joins a number and its unit, because the lexer reads 128KiB as the two tokens 128 and KiB.
  Name joined_value(Span number, Span unit);

 private:
  Program& program_;
  void* scanner_ = nullptr;
  Span token_;
  Diagnostics& diagnostics_;
  Report warnings_;
  std::array<Span, 3> recent_;  // the last tokens that the parser received
  std::vector<Span> open_brackets_;
  std::optional<Span> last_error_;
  int syntax_errors_ = 0;
  bool gave_up_ = false;
};

void add_field(std::vector<Field>& fields, Field field);
void add_enum_member(std::vector<EnumMember>& members, EnumMember member);

}  // namespace hat::hintgen
