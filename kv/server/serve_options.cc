// SPDX-License-Identifier: Apache-2.0
#include "kv/server/serve_options.h"

#include <array>
#include <utility>

#include "kv/limits.h"

namespace hat {
namespace {

// Reads one of `names`. A name's index is the value of the enumeration.
template <class Enum, size_t N>
Result<void> take_name(std::string_view option, std::string_view word,
                       const std::array<std::string_view, N>& names, Enum& into) {
  std::string expected;
  for (size_t i = 0; i < N; ++i) {
    if (word == names[i]) {
      into = static_cast<Enum>(i);
      return {};
    }
    expected += (i == 0 ? "" : i + 1 == N ? " or " : ", ") + std::string(names[i]);
  }
  return wrong_word(option, word, expected);
}

Result<void> take_listen(ServeOptions& options, std::string_view name, std::string_view value) {
  return read_word(name, value, options.listen.emplace_back());
}

Result<void> take_durability(ServeOptions& options, std::string_view name, std::string_view value) {
  std::array<std::string_view, kDurabilityLevels.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kDurabilityLevels[i].name;
  return take_name(name, value, names, options.durability);
}

Result<void> take_server(ServeOptions& options, std::string_view name, std::string_view value) {
  return take_name(name, value,
                   std::to_array<std::string_view>({"threaded", "threadpool", "nonblocking"}),
                   options.server);
}

Result<void> take_protocol(ServeOptions& options, std::string_view name, std::string_view value) {
  int chosen = 0;
  HAT_TRY_VOID(
      take_name(name, value, std::to_array<std::string_view>({"binary", "compact"}), chosen));
  options.compact = chosen == 1;
  return {};
}

Result<void> take_commit_wait(ServeOptions& options, std::string_view name,
                              std::string_view value) {
  const auto found = parse_number<uint32_t>(value);
  if (!found || *found > 1'000'000) return wrong_word(name, value, "0 to 1000000 microseconds");
  options.commit_wait_us = *found;
  return {};
}

using Serve = ServeOptions;
constexpr Option<Serve> kServeOptions[] = {
    {"--listen", true, take_listen},
    {"--data", true, take<&Serve::data>},
    {"--durability", true, take_durability},
    {"--manifest", true, take<&Serve::manifest>},
    {"--readers", true, take_up_to<&Serve::readers, kReadersMax>},
    {"--commit-wait-us", true, take_commit_wait},
    {"--map-bytes", true, take<&Serve::map_bytes>},
    {"--max-bytes", true, take<&Serve::max_bytes>},
    {"--backups", true, take<&Serve::backups>},
    {"--metrics", true, take<&Serve::metrics>},
    {"--server", true, take_server},
    {"--framed", false, set<&Serve::framed>},
    {"--buffered", false, set<&Serve::framed, false>},
    {"--protocol", true, take_protocol},
    {"--threads", true, take<&Serve::threads>},
    {"--connections", true, take<&Serve::connections>},
};

}  // namespace

Result<ServeOptions> parse_serve(Words words) {
  ServeOptions options;
  HAT_TRY(const auto rest, parse_words<ServeOptions>(words, kServeOptions, options));
  if (!rest.empty()) return fail("'" + std::string(rest[0]) + "' is not an option of serve");
  if (options.listen.empty()) return fail("--listen is missing");
  if (options.data.empty()) return fail("--data is missing");
  if (options.server == ServerKind::kNonblocking && !options.framed) {
    return fail("--server nonblocking supports only the framed transport; leave out --buffered");
  }
  if (options.metrics && options.metrics->kind != Address::Kind::kTcp) {
    return fail("--metrics: found '" + to_string(*options.metrics) + "', expected a tcp address");
  }
  return options;
}

}  // namespace hat
