// SPDX-License-Identifier: Apache-2.0
#include "config/yaml.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/quantities.h"
#include "base/utf8.h"
#include "config/hint_values.h"
#include "config/identity.h"

namespace hat {
namespace {

struct TimeUnit {
  std::string_view suffix;
  int64_t ns;
};
constexpr std::array kTimeUnits = {TimeUnit{"ns", 1}, TimeUnit{"us", 1'000},
                                   TimeUnit{"ms", 1'000'000}, TimeUnit{"min", 60'000'000'000},
                                   TimeUnit{"s", 1'000'000'000}};

SourceLocation at(const std::string& file, const YAML::Mark& mark) {
  return mark.is_null() ? SourceLocation{file, 0, 0}
                        : SourceLocation{file, mark.line + 1, mark.column + 1};
}

std::string list(const std::vector<std::string_view>& words) {
  std::string text;
  for (const auto word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

const char* kind_of(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return "a single value";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Map:
      return "a mapping";
    default:
      return "nothing";
  }
}

bool expect(const YamlValue& value, YAML::NodeType::value type, std::string_view what,
            const char* expected) {
  if (value.node.Type() == type) return true;
  value.error(std::string(what) + " is " + kind_of(value.node) + "; expected " + expected);
  return false;
}

std::optional<int64_t> parse_duration(std::string_view text) {
  for (const TimeUnit& unit : kTimeUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    const auto count = parse_number<uint32_t>(text.substr(0, text.size() - unit.suffix.size()));
    if (count) return int64_t{*count} * unit.ns;
  }
  return std::nullopt;
}

// Returns true for control characters except tab and line ends. The caller rejects a file that has
// them, because yaml-cpp takes some of them for the end of the file, and others for text.
bool is_control(unsigned char c) {
  return (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
}

// The first position at which a file is not valid text, and the reason. The caller rejects such a
// file, because yaml-cpp would accept some invalid bytes but change them.
struct NoText {
  SourceLocation location;
  const char* what;
};
std::optional<NoText> no_text(std::string_view text, const std::string& file) {
  SourceLocation location{file, 1, 1};
  while (!text.empty()) {
    const char c = text.front();
    if (is_control(static_cast<unsigned char>(c)))
      return NoText{location, "this is a control character"};
    const size_t bytes = utf8_character_bytes(text);
    if (bytes == 0) return NoText{location, "this is not UTF-8"};
    location = c == '\n' ? SourceLocation{file, location.line + 1, 1}
                         : SourceLocation{file, location.line, location.column + 1};
    text.remove_prefix(bytes);
  }
  return std::nullopt;
}

// Collects the positions at which documents begin.
class DocumentStarts final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { marks.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  std::vector<YAML::Mark> marks;
};

// Returns the position of the second document in `text`, if there is one. Does not use
// YAML::LoadAll, which never returns for some syntax errors: yaml-cpp 0.7 then finds an endless
// series of empty documents.
std::optional<YAML::Mark> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  for (int i = 0; i < 2; ++i) {
    if (!parser.HandleNextDocument(starts)) return std::nullopt;
  }
  return starts.marks.back();
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr size_t kShown = 60;
  return "'" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "…'" : "'");
}

SourceLocation YamlValue::location() const { return at(*file, node.Mark()); }

std::optional<YamlValue> parse_yaml(const std::string& text, const std::string& file,
                                    Diagnostics& diagnostics) {
  if (text.size() > kYamlBytesMax) {
    diagnostics.error({file}, "the file has " + std::to_string(text.size()) + " bytes; at most " +
                                  exact_size_text(kYamlBytesMax) + " are read");
    return std::nullopt;
  }
  if (const auto wrong = no_text(text, file)) {
    diagnostics.error(
        wrong->location,
        std::string(wrong->what) + "; a YAML file must be UTF-8 text without control characters");
    return std::nullopt;
  }
  try {
    if (const auto second = second_document(text)) {
      diagnostics.error(at(file, *second),
                        "this is outside of the file's mapping, or begins a second YAML document; "
                        "expected one mapping");
      return std::nullopt;
    }
    const YAML::Node document = YAML::Load(text);
    if (document.IsNull()) {
      diagnostics.error({file}, "the file is empty; expected a mapping");
      return std::nullopt;
    }
    return YamlValue{document, &file, &diagnostics};
  } catch (const YAML::Exception& error) {
    diagnostics.error(at(file, error.mark), "this is not YAML: " + error.msg);
    return std::nullopt;
  }
}

std::optional<std::string> read_file(const std::string& file, Diagnostics& diagnostics) {
  std::error_code none;
  if (std::filesystem::exists(file, none) && !std::filesystem::is_regular_file(file, none)) {
    diagnostics.error({file}, "this is not a regular file");  // a read from a pipe could block
    return std::nullopt;
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) {
    diagnostics.error(
        {file}, std::string("the file cannot be read: ") + std::strerror(errno == 0 ? EIO : errno));
    return std::nullopt;
  }
  return text;
}

void read_names(
    const YamlValue& value, std::string_view what,
    const std::function<void(const std::string&, const YamlValue&, const YamlValue&)>& read) {
  if (!expect(value, YAML::NodeType::Map, what, "a mapping")) return;
  std::vector<std::pair<std::string, SourceLocation>> seen;
  for (const auto& entry : value.node) {
    const YamlValue key{entry.first, value.file, value.diagnostics};
    if (!entry.first.IsScalar()) {
      key.error("a key of " + std::string(what) + " is " + kind_of(entry.first) +
                "; expected a name");
      continue;
    }
    const std::string& name = entry.first.Scalar();
    const auto before =
        std::ranges::find(seen, name, [](const auto& earlier) { return earlier.first; });
    if (before != seen.end()) {
      key.error(in_quotes(name) + " appears twice; first at line " +
                std::to_string(before->second.line));
      continue;
    }
    seen.emplace_back(name, key.location());
    read(name, key, {entry.second, value.file, value.diagnostics});
  }
}

void read_keys(const YamlValue& value, std::string_view what, const std::vector<YamlKey>& keys) {
  if (!expect(value, YAML::NodeType::Map, what, "a mapping")) return;
  std::vector<std::string_view> names;
  for (const YamlKey& key : keys) names.push_back(key.name);
  std::vector<std::string> found;
  read_names(value, what, [&](const std::string& name, const YamlValue& key, const YamlValue& v) {
    const auto known = std::ranges::find(keys, name, &YamlKey::name);
    if (known == keys.end()) {
      key.error("unknown key " + in_quotes(name) + " in " + std::string(what) +
                did_you_mean(name, names) + "; expected one of " + list(names));
      // The key that was probably meant counts as present, so it is not also reported as missing.
      found.emplace_back(nearest_word(name, names));
      return;
    }
    found.push_back(name);
    known->read(v);
  });
  for (const YamlKey& key : keys) {
    if (key.required && std::ranges::find(found, key.name) == found.end()) {
      value.error(std::string(what) + " has no '" + std::string(key.name) + "'");
    }
  }
}

void read_items(const YamlValue& value, std::string_view what,
                const std::function<void(const YamlValue&)>& read) {
  if (!expect(value, YAML::NodeType::Sequence, what, "a list")) return;
  for (const auto& item : value.node) read({item, value.file, value.diagnostics});
}

std::optional<std::string> read_text(const YamlValue& value, std::string_view what) {
  if (!expect(value, YAML::NodeType::Scalar, what, "a single value")) return std::nullopt;
  return value.node.Scalar();
}

std::optional<bool> read_bool(const YamlValue& value, std::string_view what) {
  const auto word = read_word(value, what, {"false", "true"});
  return word ? std::optional(*word == 1) : std::nullopt;
}

std::optional<size_t> read_word(const YamlValue& value, std::string_view what,
                                const std::vector<std::string_view>& words) {
  const auto text = read_text(value, what);
  if (!text) return std::nullopt;
  const auto found = std::ranges::find(words, *text);
  if (found != words.end()) return static_cast<size_t>(found - words.begin());
  value.error(std::string(what) + ": " + in_quotes(*text) + did_you_mean(*text, words) +
              "; expected " + list(words));
  return std::nullopt;
}

std::optional<int64_t> read_number(const YamlValue& value, std::string_view what, int64_t min,
                                   int64_t max) {
  const auto text = read_text(value, what);
  if (!text) return std::nullopt;
  const auto found = parse_number<int64_t>(*text);
  if (found && *found >= min && *found <= max) return found;
  value.error(std::string(what) + ": " + in_quotes(*text) + "; expected a number from " +
              std::to_string(min) + " to " + std::to_string(max));
  return std::nullopt;
}

std::optional<std::string> look_up(const YamlValue& value, std::string_view what,
                                   const std::string& variable) {
  const char* found = std::getenv(variable.c_str() + 1);
  if (found != nullptr) return found;
  value.error(std::string(what) + ": " + in_quotes(variable) +
              ": this environment variable is not set");
  return std::nullopt;
}

std::optional<Address> read_address(const YamlValue& value, std::string_view what) {
  const auto text = read_text(value, what);
  return text ? read_address_in(value, what, *text) : std::nullopt;
}

std::optional<Address> read_address_in(const YamlValue& value, std::string_view what,
                                       const std::string& text) {
  auto address = parse_address(text);
  if (!address) {
    value.error(std::string(what) + ": " + address.error().message);
    return std::nullopt;
  }
  if (!address->host.starts_with('$')) return std::move(*address);
  const auto host = look_up(value, what, address->host);
  if (!host) return std::nullopt;
  // An IPv6 address in an environment variable has no brackets, but parse_address() needs brackets.
  const bool is_ipv6 = host->find(':') != std::string::npos;
  address = parse_address("tcp:" + (is_ipv6 ? "[" + *host + "]" : *host) + ":" +
                          std::to_string(address->port));
  if (address) return std::move(*address);
  value.error(std::string(what) + " (" + text + "): " + address.error().message);
  return std::nullopt;
}

std::optional<std::string> read_identity_rule(const YamlValue& value, std::string_view what) {
  auto rule = read_text(value, what);
  if (!rule) return std::nullopt;
  if (const auto good = check_identity_rule(*rule); !good) {
    value.error(std::string(what) + ": " + good.error().message);
    return std::nullopt;
  }
  return rule;
}

std::vector<std::string> read_identity_rules(const YamlValue& value, std::string_view what) {
  std::vector<std::string> rules;
  read_items(value, what, [&](const YamlValue& item) {
    if (auto rule = read_identity_rule(item, what)) rules.push_back(std::move(*rule));
  });
  if (value.node.IsSequence() && value.node.size() == 0) {
    value.error(std::string(what) + " is empty; leave it out to allow everybody");
  }
  return rules;
}

std::optional<uint64_t> read_bytes(const YamlValue& value, std::string_view what, uint64_t min,
                                   uint64_t max) {
  const auto text = read_text(value, what);
  if (!text) return std::nullopt;
  const auto bytes = parse_bytes(*text);
  const bool bare = parse_number<uint64_t>(*text).has_value();
  if (bytes && !bare && *bytes >= min && *bytes <= max) return bytes;
  value.error(std::string(what) + ": " + in_quotes(*text) + (bare ? " has no unit" : "") +
              "; expected a size from " + exact_size_text(min) + " to " + exact_size_text(max) +
              ", such as 512B, 128KiB, 16MiB or 1GiB");
  return std::nullopt;
}

std::optional<std::chrono::nanoseconds> read_duration(const YamlValue& value, std::string_view what,
                                                      std::chrono::nanoseconds min,
                                                      std::chrono::nanoseconds max) {
  const auto text = read_text(value, what);
  if (!text) return std::nullopt;
  const auto ns = parse_duration(*text);
  if (ns && *ns >= min.count() && *ns <= max.count()) return std::chrono::nanoseconds(*ns);
  const bool bare = parse_number<uint64_t>(*text).has_value();
  value.error(std::string(what) + ": " + in_quotes(*text) + (bare ? " has no unit" : "") +
              "; expected a time from " + duration_text(min) + " to " + duration_text(max) +
              ", such as 50us, 250ms, 1s or 2min");
  return std::nullopt;
}

std::string duration_text(std::chrono::nanoseconds duration) {
  const int64_t ns = duration.count();
  if (ns != 0 && ns % 60'000'000'000 == 0) return std::to_string(ns / 60'000'000'000) + "min";
  if (ns % 1'000'000'000 == 0) return std::to_string(ns / 1'000'000'000) + "s";
  if (ns % 1'000'000 == 0) return std::to_string(ns / 1'000'000) + "ms";
  if (ns % 1'000 == 0) return std::to_string(ns / 1'000) + "us";
  return std::to_string(ns) + "ns";
}

}  // namespace hat
