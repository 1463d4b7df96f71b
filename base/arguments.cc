// SPDX-License-Identifier: Apache-2.0
#include "base/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/nearest_word.h"

namespace hat {
namespace {

constexpr const char* kWords = "words";  // an internal name in CLI11; no message shows it
constexpr int kWordsOfEveryLine = 1 << 28;

std::string name_of(const CLI::Option& option) {
  const auto& long_names = option.get_lnames();
  return long_names.empty() ? "-" + option.get_snames().front() : "--" + long_names.front();
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

// Replaces each argument `--name=` by `--name` and an empty argument. Otherwise CLI11 would use the
// argument after `--name=` as the option's value.
std::vector<std::string> with_empty_values(const std::vector<std::string>& arguments) {
  std::vector<std::string> all;
  bool options_end = false;
  for (std::string argument : arguments) {
    options_end |= argument == "--";
    const bool empty = !options_end && argument.starts_with("--") && argument.ends_with('=');
    if (empty) argument.pop_back();
    all.push_back(std::move(argument));
    if (empty) all.emplace_back();
  }
  return all;
}

}  // namespace

// One option. CLI11 only splits the command line into options and texts. This code, and not CLI11,
// converts the texts to values: it calls `read` with each value of a repeated option, and it gives
// brackets in a value no special meaning.
struct Arguments::Option {
  const CLI::Option* option;
  Read read;                    // set only for an option with a value
  std::function<void()> given;  // set only for a flag
};

Arguments::Arguments(std::string program)
    : program_(std::move(program)), own_(std::make_unique<CLI::App>()), app_(*own_) {
  app_.set_help_flag();
  // CLI11 must ignore unknown arguments: refuse_unknown() reports them, and suggests an option.
  app_.allow_extras();
  app_.require_subcommand(0, 1);
  flag("-h,--help", help_);
  flag("--version", version_);
}

Arguments::Arguments(std::string program, CLI::App& app)
    : program_(std::move(program)), app_(app) {}

Arguments::~Arguments() = default;

void Arguments::flag(const std::string& names, bool& is_given) {
  flag(names, [&is_given] { is_given = true; });
}

void Arguments::flag(const std::string& names, std::function<void()> given) {
  options_.push_back({app_.add_flag(names), {}, std::move(given)});
}

void Arguments::option(const std::string& names, Read read) {
  CLI::Option* option = app_.add_option(names);
  option->expected(1)->allow_extra_args(false)->multi_option_policy(
      CLI::MultiOptionPolicy::TakeLast);
  options_.push_back({option, std::move(read), {}});
}

void Arguments::words(std::string expected, size_t min, size_t max,
                      std::vector<std::string>& into) {
  CHECK(words_ == nullptr) << program_ << ": the words are declared twice";
  words_expected_ = std::move(expected);
  words_min_ = min;
  words_max_ = max;
  words_ = &into;
  // Makes CLI11 expect more words than any command line has, so that CLI11 accepts any number of
  // words. (Its setting for a variable number would also split a word in brackets into several.)
  // read_words() then checks the number of words.
  app_.add_option(kWords)
      ->expected(kWordsOfEveryLine)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Arguments& Arguments::command(const std::string& name) {
  CLI::App* app = app_.add_subcommand(name);
  app->fallthrough();  // accepts the program's options also after the command
  commands_.emplace_back(new Arguments(program_ + " " + name, *app));
  return *commands_.back();
}

std::vector<std::string> Arguments::option_names() const {
  std::vector<std::string> names;
  for (const Option& one : options_) {
    for (const std::string& name : one.option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : one.option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Result<Action> Arguments::parse(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = with_empty_values(arguments);
  std::ranges::reverse(all);  // CLI11 requires the arguments in reverse order
  try {
    app_.parse(std::move(all));
  } catch (const CLI::ArgumentMismatch&) {  // thrown if the last argument lacks its value
    return fail(ErrorCode::kInvalid, arguments.back() + ": its value is missing");
  } catch (const CLI::Error& error) {
    return fail(ErrorCode::kInvalid, error.what());
  }
  const Arguments* command = nullptr;
  for (const auto& one : commands_) {
    if (one->app_.parsed()) command = one.get();
  }
  if (command != nullptr) chosen_ = command->app_.get_name();
  HAT_TRY_VOID(set_flags());
  if (command != nullptr) HAT_TRY_VOID(command->set_flags());
  if (help_) return Action::kShowHelp;
  if (version_) return Action::kShowVersion;
  HAT_TRY_VOID(refuse_unknown(command));
  if (command == nullptr && !commands_.empty()) {
    return fail(ErrorCode::kInvalid, "no command is given; expected " + joined(command_names()));
  }
  HAT_TRY_VOID(read_values());
  HAT_TRY_VOID(command == nullptr ? read_words() : command->read_values());
  if (command != nullptr) HAT_TRY_VOID(command->read_words());
  return Action::kRun;
}

Result<void> Arguments::set_flags() const {
  for (const Option& one : options_) {
    if (!one.given) continue;
    for (const std::string& value : one.option->results()) {
      if (value != "true")
        return fail(ErrorCode::kInvalid, name_of(*one.option) + " takes no value");
      one.given();
    }
  }
  return {};
}

Result<void> Arguments::refuse_unknown(const Arguments* command) const {
  std::vector<std::string> unknown = app_.remaining(true);
  std::erase(unknown, "--");
  if (unknown.empty()) return {};
  const std::string& first = unknown.front();
  const std::string& program = command == nullptr ? program_ : command->program_;
  const bool is_option = first.size() > 1 && first.starts_with('-');
  if (!is_option && command == nullptr && !commands_.empty()) {
    const std::vector<std::string> names = command_names();
    return fail(ErrorCode::kInvalid, "'" + first + "' is not a command of " + program +
                                         did_you_mean(first, {names.begin(), names.end()}) +
                                         "; expected " + joined(names));
  }
  if (!is_option)
    return fail(ErrorCode::kInvalid, "'" + first + "' is not an argument of " + program);
  std::vector<std::string> names = option_names();
  if (command != nullptr) std::ranges::copy(command->option_names(), std::back_inserter(names));
  const std::string name = first.substr(0, first.find('='));
  return fail(ErrorCode::kInvalid, "'" + name + "' is not an option of " + program +
                                       did_you_mean(name, {names.begin(), names.end()}));
}

Result<void> Arguments::read_values() const {
  for (const Option& one : options_) {
    if (!one.read) continue;
    for (const std::string& value : one.option->results()) {
      if (auto read = one.read(value); !read) {
        return std::unexpected(in(name_of(*one.option), std::move(read.error())));
      }
    }
  }
  return {};
}

Result<void> Arguments::read_words() const {
  if (words_ == nullptr) return {};
  *words_ = app_.get_option(kWords)->results();
  const size_t count = words_->size();
  if (count >= words_min_ && count <= words_max_) return {};
  return fail(ErrorCode::kInvalid, "found " + std::to_string(count) +
                                       (count == 1 ? " argument" : " arguments") + ", expected " +
                                       words_expected_);
}

std::vector<std::string> Arguments::command_names() const {
  std::vector<std::string> names;
  for (const auto& command : commands_) names.push_back(command->app_.get_name());
  return names;
}

// --- Readers of values ---

std::unexpected<Error> unexpected_value(std::string_view found, std::string_view expected) {
  return fail(ErrorCode::kInvalid,
              "found '" + std::string(found) + "', expected " + std::string(expected));
}

Arguments::Read read_text(std::string& into) {
  return [&into](const std::string& value) -> Result<void> {
    into = value;
    return {};
  };
}

Arguments::Read read_non_empty_text(std::string& into, std::string what) {
  return [&into, what = std::move(what)](const std::string& value) -> Result<void> {
    if (value.empty()) return unexpected_value(value, what);
    into = value;
    return {};
  };
}

Arguments::Read read_address(Address& into) {
  return [&into](const std::string& value) -> Result<void> {
    HAT_TRY(into, parse_address(value));
    return {};
  };
}

Arguments::Read read_one_of(std::vector<std::string> names, std::function<void(size_t)> chosen) {
  return [names = std::move(names), chosen = std::move(chosen)](const std::string& value) {
    const auto found = std::ranges::find(names, value);
    if (found == names.end()) return Result<void>(unexpected_value(value, joined(names)));
    chosen(static_cast<size_t>(found - names.begin()));
    return Result<void>();
  };
}

}  // namespace hat
