// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/metrics_reader_for_tests.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string_view>

namespace hat {
namespace {

bool is_name(std::string_view name, bool colons) {
  const auto fits = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (colons && c == ':');
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, fits);
}

// One line of the text; the methods read it from the front.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::string until(std::string_view ends) {
    std::string word(rest_.substr(0, rest_.find_first_of(ends)));
    rest_.remove_prefix(word.size());
    return word;
  }
  const std::string_view& rest() const { return rest_; }

  Result<std::string> quoted() {
    if (!take("\""))
      return fail(ErrorCode::kInvalid, "a label's value does not begin with a quote");
    std::string value;
    while (!rest_.empty() && rest_[0] != '"') {
      if (take("\\\\"))
        value += '\\';
      else if (take("\\\""))
        value += '"';
      else if (take("\\n"))
        value += '\n';
      else if (rest_[0] == '\\')
        return fail(ErrorCode::kInvalid,
                    "a label's value has an escape other than \\\\, \\\" and \\n");
      else {
        value += rest_[0];
        rest_.remove_prefix(1);
      }
    }
    if (!take("\"")) return fail(ErrorCode::kInvalid, "a label's value has no closing quote");
    return value;
  }

 private:
  std::string_view rest_;
};

Result<MetricSample> read_sample(std::string_view text) {
  Line line(text);
  MetricSample sample;
  sample.name = line.until("{ ");
  if (!is_name(sample.name, true))
    return fail(ErrorCode::kInvalid, "'" + sample.name + "' is not a metric's name");
  if (line.take("{")) {
    while (!line.take("}")) {
      const std::string label = line.until("=");
      if (!is_name(label, false) || !line.take("="))
        return fail(ErrorCode::kInvalid, "'" + label + "' is not a label");
      HAT_TRY(std::string value, line.quoted());
      if (!sample.labels.emplace(label, value).second)
        return fail(ErrorCode::kInvalid, "duplicate label " + label);
      if (!line.take(",") && !line.rest().starts_with("}"))
        return fail(ErrorCode::kInvalid, "no comma after " + label);
    }
  }
  if (!line.take(" ")) return fail(ErrorCode::kInvalid, "no space before the value");
  const std::string number(line.rest());
  char* end = nullptr;
  sample.value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0')
    return fail(ErrorCode::kInvalid, "'" + number + "' is not a number");
  return sample;
}

bool belongs(const MetricSample& sample, const MetricFamilyText& family) {
  if (sample.name == family.name) return family.type != "histogram";
  if (family.type != "histogram") return false;
  const bool has_bound = sample.labels.contains("le");
  if (sample.name == family.name + "_bucket") return has_bound;
  return !has_bound &&
         (sample.name == family.name + "_sum" || sample.name == family.name + "_count");
}

class Reader {
 public:
  Result<void> line(std::string_view text) {
    Line rest(text);
    if (rest.take("# HELP ")) return help(rest);
    if (rest.take("# TYPE ")) return type(rest);
    if (text.empty() || text[0] == '#')
      return fail(ErrorCode::kInvalid, "the line is not a HELP, a TYPE or a sample");
    HAT_TRY(MetricSample sample, read_sample(text));
    if (families.empty() || families.back().type.empty() || !belongs(sample, families.back())) {
      return fail(ErrorCode::kInvalid, sample.name + " is not below its own TYPE line");
    }
    if (!series_.emplace(sample.name, sample.labels).second)
      return fail(ErrorCode::kInvalid, "duplicate series");
    families.back().samples.push_back(std::move(sample));
    return {};
  }

  std::vector<MetricFamilyText> families;

 private:
  Result<void> help(Line& line) {
    const std::string name = line.until(" ");
    if (!is_name(name, true) || !names_.insert(name).second)
      return fail(ErrorCode::kInvalid, "invalid or duplicate name in HELP: " + name);
    if (!line.take(" ") || line.rest().empty())
      return fail(ErrorCode::kInvalid, name + " has an empty HELP");
    families.push_back({name, std::string(line.rest()), "", {}});
    return {};
  }
  Result<void> type(Line& line) {
    const std::string name = line.until(" ");
    if (families.empty() || families.back().name != name || !families.back().type.empty()) {
      return fail(ErrorCode::kInvalid, "TYPE of " + name + " does not follow its HELP");
    }
    line.take(" ");
    const std::string_view type = line.rest();
    if (type != "counter" && type != "gauge" && type != "histogram") {
      return fail(ErrorCode::kInvalid, "'" + std::string(type) + "' is not a type");
    }
    families.back().type = type;
    return {};
  }

  std::set<std::string> names_;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> series_;
};

}  // namespace

Result<std::vector<MetricFamilyText>> read_metrics(const std::string& text) {
  if (!text.ends_with('\n')) return fail(ErrorCode::kInvalid, "the last line has no newline");
  Reader reader;
  std::istringstream lines(text);
  size_t number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    if (const auto read = reader.line(line); !read) {
      return fail(ErrorCode::kInvalid,
                  "line " + std::to_string(number) + ": " + read.error().message + ": " + line);
    }
  }
  return std::move(reader.families);
}

}  // namespace hat
