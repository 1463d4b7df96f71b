// SPDX-License-Identifier: Apache-2.0
#include "config/hint_values.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "base/check.h"
#include "base/lower_case.h"
#include "base/nearest_word.h"
#include "base/number.h"
#include "base/quantities.h"
#include "config/diagnostics.h"
#include "config/hint_keys.h"

namespace hat {
namespace {

struct Unit {
  std::string_view suffix;
  int shift;
};
constexpr std::array kUnits = {Unit{"GiB", 30}, Unit{"MiB", 20}, Unit{"KiB", 10}, Unit{"B", 0},
                               Unit{"", 0}};

constexpr uint64_t kNumberMax = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kBytesMax = std::numeric_limits<uint64_t>::max();

struct Measure {
  std::string_view count;  // digits
  std::string unit;        // the rest, in lower case
};

Measure split_unit(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return {text.substr(0, digits), lower_case(text.substr(digits))};
}

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const auto [count, unit] = split_unit(text);
  return !count.empty() && unit.empty();
}

template <class T>
std::optional<T> word(std::string_view text, std::span<const std::string_view> words) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) return std::nullopt;
  return static_cast<T>(found - words.begin());
}

// Returns the correct spelling of the size that `value` probably means, for an error message: 4KiB
// for "4KB", 10KiB for "10K", and 64 for "64bytes". Returns nullopt if `value` is not a number with
// a unit that resembles a known unit.
std::optional<std::string> meant_bytes(std::string_view value) {
  const auto [count, unit] = split_unit(value);
  if (count.empty() || unit.empty()) return std::nullopt;
  for (const std::string_view word : {"b", "byte", "bytes"}) {
    if (unit == word) return std::string(count);
  }
  for (const Unit& known : kUnits) {
    if (known.shift == 0) break;
    const std::string first(1, lower_case(known.suffix.front()));
    for (const char* rest : {"", "b", "i", "ib"}) {
      if (unit == first + rest) return std::string(count) + std::string(known.suffix);
    }
  }
  return std::nullopt;
}

// Returns the number of milliseconds that `value` probably means, for an error message: 10 for
// "10ms", and 2000 for "2s".
std::optional<std::string> meant_milliseconds(std::string_view value) {
  const auto [digits, unit] = split_unit(value);
  const auto count = parse_number<uint32_t>(digits);
  if (!count) return std::nullopt;
  const uint64_t ms = uint64_t{*count} * (unit == "ms" ? 1 : unit == "s" ? 1000 : 60'000);
  const bool is_known = unit == "ms" || unit == "s" || unit == "min";
  if (!is_known || ms == 0 || ms > kNumberMax) return std::nullopt;
  return std::to_string(ms);
}

std::optional<std::string> meant_bool(std::string_view value) {
  const std::string word = lower_case(value);
  for (const std::string_view yes : {"yes", "on", "y", "1"}) {
    if (word == yes) return "true";
  }
  for (const std::string_view no : {"no", "off", "n", "0"}) {
    if (word == no) return "false";
  }
  return std::nullopt;
}

std::optional<std::string> meant_value(const HintKey& key, std::string_view value) {
  if (key.name == "payload_size") return meant_bytes(value);
  if (key.name == "timeout_ms") return meant_milliseconds(value);
  if (key.name == "idempotent") return meant_bool(value);
  return std::nullopt;
}

std::unexpected<Error> bad_value(const HintKey& key, std::string_view value,
                                 std::span<const std::string_view> words) {
  std::string expected(key.values);
  if (key.name == "protocol") {
    expected = "one of ";
    for (const auto name : words)
      expected += (name == words.front() ? "" : ", ") + std::string(name);
  }
  const auto meant = meant_value(key, value);
  return fail(ErrorCode::kInvalid, std::string(key.name) + ": '" + std::string(value) + "'" +
                                       (meant ? " (did you mean '" + *meant + "'?)"
                                              : did_you_mean(value, {words.begin(), words.end()})) +
                                       "; expected " + expected);
}

// Returns the error for a `value` that is a number, but outside the range of the key.
std::unexpected<Error> out_of_range(const HintKey& key, std::string_view value, uint64_t min,
                                    uint64_t max) {
  return fail(ErrorCode::kInvalid, std::string(key.name) + ": '" + std::string(value) +
                                       "' is out of the range from " + std::to_string(min) +
                                       " to " + std::to_string(max) + "; expected " +
                                       std::string(key.values));
}

const HintKey* find_key(std::string_view name) {
  const auto found = std::ranges::find_if(kHintKeys, [name](const HintKey& key) {
    return key.name == name || (!key.older.empty() && key.older == name);
  });
  return found == kHintKeys.end() ? nullptr : &*found;
}

// Returns true if `text` consists of digits, with or without one of the units. The number can be
// too large for parse_bytes().
bool is_size(std::string_view text) {
  return std::ranges::any_of(kUnits, [&](const Unit& unit) {
    return text.ends_with(unit.suffix) &&
           is_whole_number(text.substr(0, text.size() - unit.suffix.size()));
  });
}

// Sets `member` to the enumerator whose word in `words` is `value`. Returns an error if `value` is
// not in `words`.
template <class T>
Result<void> set_word(std::optional<T>& member, const HintKey& key, std::string_view value,
                      std::span<const std::string_view> words) {
  const auto found = word<T>(value, words);
  if (!found) return bad_value(key, value, words);
  member = *found;
  return {};
}

// Sets `member` to the number that `value` consists of, at least `min`, or to the enumerator whose
// word in `words` is `value`. Returns an error for any other value.
template <class Word, class Variant>
Result<void> set_number_or_word(std::optional<Variant>& member, const HintKey& key,
                                std::string_view value, std::span<const std::string_view> words,
                                uint32_t min) {
  if (const auto count = parse_number<uint32_t>(value); count && *count >= min) {
    member = *count;
  } else if (const auto found = word<Word>(value, words)) {
    member = *found;
  } else if (is_whole_number(value)) {
    return out_of_range(key, value, min, kNumberMax);
  } else {
    return bad_value(key, value, words);
  }
  return {};
}

Result<void> set(Hints& hints, const HintKey& key, std::string_view value) {
  if (key.name == "perf_goal") return set_word(hints.perf_goal, key, value, kPerfGoalWords);
  if (key.name == "polling") return set_word(hints.polling, key, value, kPollingWords);
  if (key.name == "transport") return set_word(hints.transport, key, value, kTransportWords);
  if (key.name == "plan") return set_word(hints.plan, key, value, kPlanWords);
  if (key.name == "priority") return set_word(hints.priority, key, value, kPriorityWords);
  if (key.name == "idempotent") return set_word(hints.idempotent, key, value, kBoolWords);
  if (key.name == "concurrency") {
    return set_number_or_word<Subscription>(hints.concurrency, key, value, kSubscriptionWords, 1);
  }
  if (key.name == "numa") {
    return set_number_or_word<NumaWord>(hints.numa, key, value, kNumaWords, 0);
  }
  if (key.name == "protocol") {
    if (std::ranges::find(kProtocolWords, value) == kProtocolWords.end()) {
      return bad_value(key, value, kProtocolWords);
    }
    hints.protocol = value;
    return {};
  }
  if (key.name == "payload_size") {
    const auto bytes = parse_bytes(value);
    if (!bytes && is_size(value)) return out_of_range(key, value, 0, kBytesMax);
    if (!bytes) return bad_value(key, value, {});
    hints.payload_bytes = bytes;
    return {};
  }
  CHECK_EQ(key.name, "timeout_ms") << "set() has no branch for this key of kHintKeys";
  const auto ms = parse_number<uint32_t>(value);
  const bool good = ms && *ms != 0;
  if (!good && is_whole_number(value)) return out_of_range(key, value, 1, kNumberMax);
  if (!good) return bad_value(key, value, {});
  hints.timeout = std::chrono::milliseconds(*ms);
  return {};
}

std::unexpected<Error> unknown_key(std::string_view key) {
  std::vector<std::string_view> names;
  std::string list;
  for (const HintKey& each : kHintKeys) {
    names.push_back(each.name);
    list += (list.empty() ? "" : ", ") + std::string(each.name);
  }
  return fail(ErrorCode::kInvalid, "unknown hint '" + std::string(key) + "'" +
                                       did_you_mean(key, names) + "; expected one of " + list);
}

template <class Variant>
std::string number_or_word(const Variant& value, std::span<const std::string_view> words) {
  if (const auto* count = std::get_if<uint32_t>(&value)) return std::to_string(*count);
  return std::string(words[static_cast<size_t>(std::get<1>(value))]);
}

}  // namespace

bool is_hint_key(std::string_view key) { return find_key(key) != nullptr; }

Result<void> set_hint(Hints& hints, std::string_view key, std::string_view value) {
  const HintKey* known = find_key(key);
  return known == nullptr ? unknown_key(key) : set(hints, *known, value);
}

Result<void> clear_hint(Hints& hints, std::string_view key) {
  const HintKey* known = find_key(key);
  if (known == nullptr) return unknown_key(key);
  Hints others;
  for (const auto& [name, value] : hint_words(hints)) {
    if (name != known->name) HAT_TRY_VOID(set_hint(others, name, value));
  }
  hints = std::move(others);
  return {};
}

std::optional<std::string> hint_value(const Hints& hints, std::string_view key) {
  const HintKey* known = find_key(key);
  for (auto& [name, value] : hint_words(hints)) {
    if (known != nullptr && name == known->name) return value;
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> hint_words(const Hints& hints) {
  std::vector<std::pair<std::string, std::string>> said;
  const auto say = [&said](const char* key, auto value) {
    said.emplace_back(key, std::string(value));
  };
  const auto at = [](auto words, auto index) { return words[static_cast<size_t>(index)]; };
  if (hints.perf_goal) say("perf_goal", at(kPerfGoalWords, *hints.perf_goal));
  if (hints.concurrency) {
    say("concurrency", number_or_word(*hints.concurrency, kSubscriptionWords));
  }
  if (hints.payload_bytes) say("payload_size", exact_size_text(*hints.payload_bytes));
  if (hints.polling) say("polling", at(kPollingWords, *hints.polling));
  if (hints.protocol) say("protocol", *hints.protocol);
  if (hints.transport) say("transport", at(kTransportWords, *hints.transport));
  if (hints.plan) say("plan", at(kPlanWords, *hints.plan));
  if (hints.numa) say("numa", number_or_word(*hints.numa, kNumaWords));
  if (hints.priority) say("priority", at(kPriorityWords, *hints.priority));
  if (hints.timeout) say("timeout_ms", std::to_string(hints.timeout->count()));
  if (hints.idempotent) say("idempotent", at(kBoolWords, *hints.idempotent));
  return said;
}

std::optional<uint64_t> parse_bytes(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    const auto count = parse_number<uint64_t>(text.substr(0, text.size() - unit.suffix.size()));
    if (!count || (*count << unit.shift) >> unit.shift != *count) return std::nullopt;
    return *count << unit.shift;
  }
  return std::nullopt;
}

}  // namespace hat
