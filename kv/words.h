// SPDX-License-Identifier: Apache-2.0
// kv/words.h: parses a command's arguments by a table of its options.
//
//   constexpr Option<Opts> kOptions[] = {
//       {"--batch", true, take<&Opts::batch>},
//       {"--keys", false, set<&Opts::keys>},
//   };
//   HAT_TRY(const auto rest, parse_words<Opts>(words, kOptions, opts));  // the other arguments
//
// `--` ends the options: the arguments after it are not options, even if they begin with a hyphen.
//
// Errors   name the option, the value found and the value expected.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/address.h"
#include "base/number.h"
#include "base/result.h"

namespace hat {

using Words = std::span<const std::string_view>;

template <class Options>
struct Option {
  std::string_view name;
  bool has_value;
  Result<void> (*read)(Options& options, std::string_view name, std::string_view value);
};

inline std::unexpected<Error> wrong_word(std::string_view option, std::string_view found,
                                         std::string_view expected) {
  return fail(std::string(option) + ": found '" + std::string(found) + "', expected " +
              std::string(expected));
}

inline Result<void> read_word(std::string_view, std::string_view value, std::string& into) {
  into = value;
  return {};
}

inline Result<void> read_word(std::string_view name, std::string_view value, Address& into) {
  auto address = parse_address(value);
  if (!address) return std::unexpected(in(name, std::move(address.error())));
  into = std::move(*address);
  return {};
}

template <class Number>
  requires std::is_arithmetic_v<Number>
Result<void> read_word(std::string_view name, std::string_view value, Number& into) {
  const auto found = parse_number<Number>(value);
  if (!found || *found <= 0) return wrong_word(name, value, "a number from 1");
  into = *found;
  return {};
}

template <class Wanted>
Result<void> read_word(std::string_view name, std::string_view value, std::optional<Wanted>& into) {
  return read_word(name, value, into.emplace());
}

// Stores the option's value in a field.
template <auto Field, class Options>
Result<void> take(Options& options, std::string_view name, std::string_view value) {
  return read_word(name, value, options.*Field);
}

// Stores the option's value, a number from 1 to `Max`, in a field.
template <auto Field, uint32_t Max, class Options>
Result<void> take_up_to(Options& options, std::string_view name, std::string_view value) {
  HAT_TRY_VOID(read_word(name, value, options.*Field));
  if (options.*Field > Max) return wrong_word(name, value, "1 to " + std::to_string(Max));
  return {};
}

// Sets the field of an option without a value to `Value`.
template <auto Field, bool Value = true, class Options>
Result<void> set(Options& options, std::string_view, std::string_view) {
  options.*Field = Value;
  return {};
}

template <class Options>
Result<std::vector<std::string_view>> parse_words(Words words,
                                                  std::span<const Option<Options>> known,
                                                  Options& options) {
  std::vector<std::string_view> rest;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") {
      rest.insert(rest.end(), words.begin() + static_cast<ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      rest.push_back(word);
      continue;
    }
    const Option<Options>* option = nullptr;
    for (const Option<Options>& one : known) {
      if (one.name == word) option = &one;
    }
    if (option == nullptr) return fail("unknown option '" + std::string(word) + "'");
    if (option->has_value && i + 1 == words.size()) {
      return fail(std::string(word) + ": its value is missing");
    }
    HAT_TRY_VOID(option->read(options, word, option->has_value ? words[++i] : std::string_view()));
  }
  return rest;
}

}  // namespace hat
