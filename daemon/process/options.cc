// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/options.h"

namespace hat {
namespace {

constexpr int kDebug = -1;            // below glog's levels, which begin with 0 for info
constexpr int64_t kStayMax = 86'400;  // in seconds: one day

}  // namespace

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  int64_t stay_seconds = 0;
  Arguments parser("hatrpcd");
  parser.option("-c,--config", read_text(options.config));
  parser.flag("-t,--check", options.check);
  parser.flag("-q,--quiet", options.quiet);
  parser.flag("--takeover", options.takeover);
  parser.option("--serving-file", read_text(options.serving_file));
  parser.option("--stay", read_number<int64_t>(stay_seconds, 1, kStayMax, "seconds"));
  parser.option("--log-level",
                read_one_of({"debug", "info", "warning", "error"}, [&options](size_t index) {
                  options.log_level = kDebug + static_cast<int>(index);
                }));
  HAT_TRY(options.action, parser.parse(arguments));
  options.stay_time = std::chrono::seconds(stay_seconds);
  if (options.quiet && !options.check)
    return fail(ErrorCode::kInvalid, "--quiet is valid only with --check");
  return options;
}

}  // namespace hat
