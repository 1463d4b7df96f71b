// SPDX-License-Identifier: Apache-2.0
// base/arguments.h: parses the command line of a program, with CLI11. All programs accept the same
// forms, and report mistakes in the same words.
//
//   Arguments arguments("hatkv get");
//   arguments.flag("--raw", options.raw);
//   arguments.option("--timeout", read_number(options.timeout_s, 1u, kTimeoutSecondsMax));
//   arguments.words("KEY...", 1, Arguments::kAnyNumber, options.words);
//   HAT_TRY(options.action, arguments.parse(words));
//
// Words    are the arguments that are neither options nor their values.
// Forms    --name VALUE, --name=VALUE, -n VALUE, -nVALUE, and -ab for the flags -a and -b. Options
//          and words may be in any order; if an option is repeated, the last value counts, unless
//          its reader keeps all. After -- come only words, which may begin with a hyphen.
// Errors   name the option, the value found and the value expected.
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

// The action that a command line asks for. -h, --help and --version win over every mistake, except
// an option whose value is missing.
enum class Action : uint8_t { kRun, kShowHelp, kShowVersion };

class Arguments {
 public:
  // Stores the value of an option, or returns what is wrong with it, without the option's name.
  using Read = std::function<Result<void>(const std::string& value)>;

  static constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

  // Creates a parser without options. `program` is the name that messages use.
  explicit Arguments(std::string program);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // Declares an option without a value. `names` is "--json", or "-q,--quiet".
  void flag(const std::string& names, bool& is_given);
  // Declares an option without a value, which calls `given`.
  void flag(const std::string& names, std::function<void()> given);
  // Declares an option with a value. The readers run in the order of their declaration.
  void option(const std::string& names, Read read);
  // Declares from `min` to `max` arguments that are not options. `expected` describes them in
  // messages: "KEY VALUE". Without this call the program takes none.
  void words(std::string expected, size_t min, size_t max, std::vector<std::string>& into);
  // Declares a command, which has options and words of its own. Exactly one of the commands must be
  // given. The options of the program may stand after the command, too.
  Arguments& command(const std::string& name);

  // Parses the arguments after the program's name.
  Result<Action> parse(const std::vector<std::string>& arguments);
  // Returns the command that was given, or an empty text.
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
  const std::unique_ptr<CLI::App>
      own_;  // null for a command: the program's CLI::App owns the command's
  CLI::App& app_;
  std::vector<Option> options_;
  bool help_ = false;
  bool version_ = false;
  std::string words_expected_;
  size_t words_min_ = 0;
  size_t words_max_ = 0;
  std::vector<std::string>* words_ = nullptr;  // null: takes no words
  std::vector<std::unique_ptr<Arguments>> commands_;
  std::string chosen_;
};

// --- Readers of values ---

// Returns "found 'x', expected y".
std::unexpected<Error> unexpected_value(std::string_view found, std::string_view expected);

// Reads any text.
Arguments::Read read_text(std::string& into);
// Reads a path, or another text that must not be empty. `what` names it in messages: "a file".
Arguments::Read read_non_empty_text(std::string& into, std::string what);
// Reads an address: tcp:HOST:PORT, unix:/PATH or shm:/PATH.
Arguments::Read read_address(Address& into);

// Reads one of `names`, and calls `chosen` with its index.
Arguments::Read read_one_of(std::vector<std::string> names, std::function<void(size_t)> chosen);

// Reads a number from `min` to `max`. `unit` stands before the range in messages: "seconds".
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
      if constexpr (std::is_floating_point_v<Number>) {  // 0.1, 1000000
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
