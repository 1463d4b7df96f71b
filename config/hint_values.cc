#include "config/hint_values.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/number.h"
#include "config/hint_keys.h"
#include "config/mistakes.h"

namespace hat {
namespace {

struct Unit {
  std::string_view suffix;
  int shift;
};
constexpr std::array kUnits = {Unit{"GiB", 30}, Unit{"MiB", 20}, Unit{"KiB", 10}, Unit{"B", 0},
                               Unit{"", 0}};

template <class T>
std::optional<T> word(std::string_view text, std::span<const std::string_view> words) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) return std::nullopt;
  return static_cast<T>(found - words.begin());
}

std::unexpected<Error> bad_value(const HintKey& key, std::string_view value,
                                 std::span<const std::string_view> words) {
  std::string expected(key.values);
  if (key.name == "protocol") {
    expected = "one of ";
    for (const auto name : words)
      expected += (name == words.front() ? "" : ", ") + std::string(name);
  }
  return fail(std::string(key.name) + ": '" + std::string(value) + "'" +
              did_you_mean(value, {words.begin(), words.end()}) + "; expected " + expected);
}

const HintKey* find_key(std::string_view name) {
  const auto found = std::ranges::find_if(kHintKeys, [name](const HintKey& key) {
    return key.name == name || (!key.older.empty() && key.older == name);
  });
  return found == kHintKeys.end() ? nullptr : &*found;
}

// A word of `words`, into `member`.
template <class T>
Result<void> set_word(std::optional<T>& member, const HintKey& key, std::string_view value,
                      std::span<const std::string_view> words) {
  const auto found = word<T>(value, words);
  if (!found) return bad_value(key, value, words);
  member = *found;
  return {};
}

// A number of at least `min`, or a word, into a variant.
template <class Word, class Variant>
Result<void> set_number_or_word(std::optional<Variant>& member, const HintKey& key,
                                std::string_view value, std::span<const std::string_view> words,
                                uint32_t min) {
  if (const auto count = parse_number<uint32_t>(value); count && *count >= min) {
    member = *count;
  } else if (const auto found = word<Word>(value, words)) {
    member = *found;
  } else {
    return bad_value(key, value, words);
  }
  return {};
}

Result<void> set(Hints& hints, const HintKey& key, std::string_view value) {
  if (key.name == "perf_goal") return set_word(hints.perf_goal, key, value, kPerfGoalWords);
  if (key.name == "polling") return set_word(hints.polling, key, value, kPollingWords);
  if (key.name == "transport") return set_word(hints.transport, key, value, kTransportWords);
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
    if (!bytes) return bad_value(key, value, {});
    hints.payload_bytes = bytes;
    return {};
  }
  const auto ms = parse_number<uint32_t>(value);  // timeout_ms
  if (!ms || *ms == 0) return bad_value(key, value, {});
  hints.timeout = std::chrono::milliseconds(*ms);
  return {};
}

template <class Variant>
std::string number_or_word(const Variant& value, std::span<const std::string_view> words) {
  if (const auto* count = std::get_if<uint32_t>(&value)) return std::to_string(*count);
  return std::string(words[static_cast<size_t>(std::get<1>(value))]);
}

}  // namespace

bool is_hint_key(std::string_view key) { return find_key(key) != nullptr; }

Result<void> set_hint(Hints& hints, std::string_view key, std::string_view value) {
  if (const HintKey* known = find_key(key)) return set(hints, *known, value);
  std::vector<std::string_view> names;
  std::string list;
  for (const HintKey& each : kHintKeys) {
    names.push_back(each.name);
    list += (list.empty() ? "" : ", ") + std::string(each.name);
  }
  return fail("unknown hint '" + std::string(key) + "'" + did_you_mean(key, names) +
              "; expected one of " + list);
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
  if (hints.payload_bytes) say("payload_size", bytes_text(*hints.payload_bytes));
  if (hints.polling) say("polling", at(kPollingWords, *hints.polling));
  if (hints.protocol) say("protocol", *hints.protocol);
  if (hints.transport) say("transport", at(kTransportWords, *hints.transport));
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

std::string bytes_text(uint64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (unit.shift == 0) break;
    const uint64_t size = uint64_t{1} << unit.shift;
    if (bytes != 0 && bytes % size == 0) {
      return std::to_string(bytes / size) + std::string(unit.suffix);
    }
  }
  return std::to_string(bytes);
}

}  // namespace hat
