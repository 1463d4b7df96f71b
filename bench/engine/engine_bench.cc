// SPDX-License-Identifier: Apache-2.0
// bench/engine/engine_bench.cc: runs one measurement of the engine and prints one line of JSON. The
// experiments bench/experiments/engine_*.py run it many times.
#include <getopt.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "bench/engine/measure.h"

namespace hat::bench {
namespace {

constexpr const char* kHelp =
    R"(engine_bench: measures the engine between two processes, and prints one line of JSON

usage: engine_bench MEASUREMENT [options]

  calls      round trips on --clients lanes with one call each: --protocol, --size
  oneway     messages in one direction: --protocol, --size
  flag       two processes toggle a flag in shared memory: the lower bound of a round trip
  memcpy     copies of --size bytes
  costs      put, get, compare-and-swap, fetch-and-add, message, registration, wake-up

options:
  --fabric loop|verbs        default loop; verbs needs the devices rxe1 and rxe2 (./dev lab)
  --protocol NAME            default direct_write_imm
  --size BYTES               default 64
  --clients N                default 1
  --polling busy|event|adaptive   default busy
  --seconds S                default 1
  --confirm-each             oneway: the receiver confirms every message
  --lend                     oneway: send from registered memory, without copying it first

examples:
  engine_bench calls --protocol rfp --size 4096
  engine_bench oneway --protocol hipower
)";

int usage(const char* what) {
  std::fprintf(stderr, "engine_bench: %s (see engine_bench --help)\n", what);
  return 2;
}

bool parse_polling(std::string_view word, Polling& polling) {
  if (word == "busy") return polling = Polling::kBusy, true;
  if (word == "event") return polling = Polling::kEvent, true;
  return word == "adaptive" && (polling = Polling::kAdaptive, true);
}

int parse(int count, char** words, Settings& settings) {
  static const option long_options[] = {
      {"fabric", required_argument, nullptr, 'f'},  {"protocol", required_argument, nullptr, 'p'},
      {"size", required_argument, nullptr, 's'},    {"clients", required_argument, nullptr, 'c'},
      {"polling", required_argument, nullptr, 'o'}, {"seconds", required_argument, nullptr, 't'},
      {"confirm-each", no_argument, nullptr, 'e'},  {"lend", no_argument, nullptr, 'l'},
      {"help", no_argument, nullptr, 'h'},          {},
  };
  for (int got = 0; (got = getopt_long(count, words, "", long_options, nullptr)) != -1;) {
    switch (got) {
      case 'f':
        settings.fabric = optarg;
        break;
      case 'p': {
        const auto found = engine::find_protocol(optarg);
        if (!found) return usage("--protocol: unknown protocol");
        settings.protocol = &engine::protocol(*found);
        break;
      }
      case 's':
        settings.bytes = std::strtoul(optarg, nullptr, 10);
        break;
      case 'c':
        settings.clients = static_cast<uint32_t>(std::strtoul(optarg, nullptr, 10));
        break;
      case 'o':
        if (!parse_polling(optarg, settings.polling))
          return usage("--polling: expected busy, event or adaptive");
        break;
      case 't':
        settings.seconds = std::strtod(optarg, nullptr);
        break;
      case 'e':
        settings.confirm_each = true;
        break;
      case 'l':
        settings.zero_copy = true;
        break;
      case 'h':
        std::fputs(kHelp, stdout);
        std::exit(0);
      default:
        return 2;
    }
  }
  if (settings.fabric != "loop" && settings.fabric != "verbs")
    return usage("--fabric: expected loop or verbs");
  if (settings.clients == 0 || settings.seconds <= 0)
    return usage("--clients and --seconds must be above 0");
  return optind == count - 1 ? 0 : usage("give one measurement");
}

struct Measurement {
  std::string_view name;
  void (*run)(const Settings&);
};
constexpr Measurement kMeasurements[] = {
    {"calls", &measure_calls},   {"oneway", &measure_oneway}, {"flag", &measure_flag},
    {"memcpy", &measure_memcpy}, {"costs", &measure_costs},
};

}  // namespace
}  // namespace hat::bench

int main(int count, char** words) {
  using namespace hat::bench;
  Settings settings;
  if (const int status = parse(count, words, settings); status != 0) return status;
  const auto* found =
      std::ranges::find(kMeasurements, std::string_view(words[optind]), &Measurement::name);
  if (found == std::end(kMeasurements)) return usage("unknown measurement");
  found->run(settings);
  return 0;
}
