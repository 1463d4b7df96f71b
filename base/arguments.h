// SPDX-License-Identifier: Apache-2.0
// base/arguments.h: parses the command line of a program, with the library CLI11. All programs
// accept the same forms of options, and report mistakes in the same words.
//
//   Arguments arguments("hatkv get");
//   arguments.flag("--raw", options.raw);
//   arguments.option("--timeout", read_number(options.timeout_s, 1u, kTimeoutSecondsMax));
//   arguments.words("KEY...", 1, Arguments::kAnyNumber, options.words);
//   HAT_TRY(options.action, arguments.parse(words));
//
// Words    A word is an argument that is neither an option nor the value of an option.
// Forms    --name VALUE, --name=VALUE, -n VALUE, -nVALUE, and -ab for the flags -a and -b. Options
//          and words can be in any order. If an option is repeated, its reader gets each value in
//          turn. All arguments after -- are words, even if they begin with a hyphen.
// Errors   An error names the option, the value found and the value expected.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/address.h"
#include "base/number.h"
#include "base/result.h"

namespace CLI {
class App;
}

namespace hat {

// The action that a command line asks for. If -h, --help or --version is present, parse() reports
// only two kinds of mistake: an option without its value, and a flag with a value.
enum class Action : uint8_t { kRun, kShowHelp, kShowVersion };

class Arguments {
 public:
  // The type of a reader: a function that stores the value of an option, or returns an error that
  // describes the value. The parser adds the option's name to the error.
  using Read = std::function<Result<void>(const std::string& value)>;

  static constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

  // Creates a parser that knows only --help and --version. `program` is the program's name in
  // messages.
  explicit Arguments(std::string program);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // Declares an option without a value; parse() sets `is_given` to true if the option is present.
  // `names` is, for example, "--json" or "-q,--quiet".
  void flag(const std::string& names, bool& is_given);
  // Declares an option without a value; parse() calls `given` if the option is present.
  void flag(const std::string& names, std::function<void()> given);
  // Declares an option with a value; parse() calls `read` with the value. The readers of different
  // options run in the order in which the options were declared.
  void option(const std::string& names, Read read);
  // Declares that the program accepts from `min` to `max` words, and that parse() stores them in
  // `into`. `expected` describes the words in messages, for example "KEY VALUE". A program that
  // does not call words() accepts no words.
  void words(std::string expected, size_t min, size_t max, std::vector<std::string>& into);
  // Declares a command, such as `get` in `hatkv get`. The returned object declares the command's
  // own options and words. If a program declares commands, its command line must contain exactly
  // one of them. The program's options can be before or after the command.
  Arguments& command(const std::string& name);

  // Parses `arguments`, the command line without the program's name.
  Result<Action> parse(const std::vector<std::string>& arguments);
  // Returns the name of the command that parse() found, or an empty text.
  const std::string& chosen_command() const { return chosen_; }
  // Returns the names of all options: "--json", "-q".
  std::vector<std::string> option_names() const;

 private:
  struct Option;
  Arguments(std::string program, CLI::App& app);
  Result<void> set_flags() const;
  Result<void> refuse_unknown(const Arguments* command) const;
  Result<void> read_values() const;
  Result<void> read_words() const;
  std::vector<std::string> command_names() const;

  const std::string program_;
  // Null in the Arguments of a command: the CLI::App of the program owns the command's CLI::App.
  const std::unique_ptr<CLI::App> own_;
  CLI::App& app_;
  std::vector<Option> options_;
  bool help_ = false;
  bool version_ = false;
  std::string words_expected_;
  size_t words_min_ = 0;
  size_t words_max_ = 0;
  std::vector<std::string>* words_ = nullptr;  // null if no words are accepted
  std::vector<std::unique_ptr<Arguments>> commands_;
  std::string chosen_;
};

// --- Readers of values ---

// Returns "found 'x', expected y".
std::unexpected<Error> unexpected_value(std::string_view found, std::string_view expected);

// Returns a reader that accepts any text.
Arguments::Read read_text(std::string& into);
// Returns a reader that accepts any text but the empty one. `what` describes the expected text in
// messages, for example "a file".
Arguments::Read read_non_empty_text(std::string& into, std::string what);
// Returns a reader that accepts an address: tcp:HOST:PORT, unix:/PATH or shm:/PATH.
Arguments::Read read_address(Address& into);

// Returns a reader that accepts one of `names`, and calls `chosen` with the index of that name.
Arguments::Read read_one_of(std::vector<std::string> names, std::function<void(size_t)> chosen);

// Returns a reader that accepts a number from `min` to `max`. In messages, `unit` comes before the
// range, for example "seconds from 1 to 60".
template <class Number>
Arguments::Read read_number(Number& into, Number min = Number{1},
                            Number max = std::numeric_limits<Number>::max(),
                            std::string unit = "a number") {
  return [&into, min, max, unit = std::move(unit)](const std::string& value) -> Result<void> {
    const auto found = parse_number<Number>(value);
    if (found && *found >= min && *found <= max) {
      into = *found;
      return {};
    }
    const auto shown = [](Number bound) {
      std::array<char, 32> text;
      char* const begin = text.data();
      if constexpr (std::is_floating_point_v<Number>) {  // "0.1", "1000000": without an exponent
        const auto format = std::chars_format::fixed;
        return std::string(begin, std::to_chars(begin, begin + text.size(), bound, format).ptr);
      } else {
        return std::to_string(bound);
      }
    };
    const bool bounded = max != std::numeric_limits<Number>::max();
    return unexpected_value(value,
                            unit + " from " + shown(min) + (bounded ? " to " + shown(max) : ""));
  };
}

}  // namespace hat
