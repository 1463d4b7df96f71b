// SPDX-License-Identifier: Apache-2.0
#include "kv/server/serve_options.h"

#include <utility>

#include "kv/limits.h"

namespace hat {
namespace {

constexpr uint32_t kCommitWaitMax = 1'000'000;

std::vector<std::string> durability_names() {
  std::vector<std::string> names;
  for (const auto& level : kDurabilityLevels) names.emplace_back(level.name);
  return names;
}

template <class T>
Arguments::Read optional_number(std::optional<T>& into, T min, T max, std::string unit) {
  return [&into, min, max, unit = std::move(unit)](const std::string& value) {
    return read_number(into.emplace(), min, max, unit)(value);
  };
}

void declare(Arguments& parser, ServeOptions& options) {
  parser.option("--listen", [&options](const std::string& value) {
    return read_address(options.listen.emplace_back())(value);
  });
  parser.option("--data", read_text(options.data));
  parser.option("--durability", read_one_of(durability_names(), [&options](size_t index) {
                  options.durability = static_cast<Durability>(index);
                }));
  parser.option("--manifest", read_text(options.manifest));
  parser.option("--readers", optional_number(options.readers, 1u, kReadersMax, "a number"));
  parser.option("--commit-wait-us",
                optional_number(options.commit_wait_us, 0u, kCommitWaitMax, "microseconds"));
  parser.option("--map-bytes", read_number(options.map_bytes));
  parser.option("--max-bytes", read_number(options.max_bytes));
  parser.option("--backups", read_text(options.backups));
  parser.option("--metrics", [&options](const std::string& value) {
    return read_address(options.metrics.emplace())(value);
  });
  parser.option("--server",
                read_one_of({"threaded", "threadpool", "nonblocking"}, [&](size_t index) {
                  options.server = static_cast<ServerKind>(index);
                }));
  parser.flag("--framed", [&options] { options.framed = true; });
  parser.flag("--buffered", [&options] { options.framed = false; });
  parser.option("--protocol", read_one_of({"binary", "compact"}, [&options](size_t index) {
                  options.compact = index == 1;
                }));
  parser.option("--threads", read_number(options.threads));
  parser.option("--connections", read_number(options.connections));
}

}  // namespace

Result<ServeOptions> parse_serve(const std::vector<std::string>& arguments) {
  ServeOptions options;
  Arguments parser("hatkv serve");
  declare(parser, options);
  HAT_TRY(options.action, parser.parse(arguments));
  if (options.action != Action::kRun) return options;
  if (options.listen.empty()) return fail(ErrorCode::kInvalid, "--listen is missing");
  if (options.data.empty()) return fail(ErrorCode::kInvalid, "--data is missing");
  if (options.server == ServerKind::kNonblocking && !options.framed) {
    return fail(ErrorCode::kInvalid,
                "--server nonblocking supports only the framed transport; leave out --buffered");
  }
  if (options.metrics && options.metrics->is_path()) {
    return fail(ErrorCode::kInvalid,
                "--metrics: found '" + to_string(*options.metrics) + "', expected a tcp address");
  }
  return options;
}

}  // namespace hat
