// SPDX-License-Identifier: Apache-2.0
// bench/dds/dds.cc: measures distributed data structures, one-sided and by calls, and compares them
// with a cost model.
#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "bench/dds/plan.h"

namespace hat::bench {
namespace {

constexpr const char* kHelp =
    R"(dds: measures distributed data structures with one-sided operations and with calls, and
compares them with their cost model

usage: dds COMMAND [options]

  components      the cost of put, get, compare_swap, fetch_add, call …
  queue           push and pop: measured, and predicted from the components of the same run
  hash            insert and find: measured and predicted in the same way
  attentiveness   push, while the owner computes between two polls for calls

Owners and clients are processes; each client does its operations one after another. After each
run, dds checks that nothing was lost and nothing arrived twice; if the check fails, the exit
status is 1.

options:
  --fabric loop|verbs     default loop; verbs needs the devices rxe1 and rxe2 (./dev lab)
  --clients N             default 1, at most 32
  --owners N              owners of the hash table and the components; default 1, at most 8
  --operations N          operations of each client for each method; default 20000
  --value-bytes N         default 8
  --method NAME           only this method, as named in the output; may be repeated
  --compute-us US,...     attentiveness: how long the owner computes; default 0,1,2,4,8,16,32,64
  --timeout S             maximum duration of the run in seconds; default 300
  --json                  print one JSON object on one line instead of a table

examples:
  dds components --clients 4
  dds queue --method queue.push.c_rw --method queue.push.call
  dds hash --owners 2 --clients 2 --value-bytes 64 --json
  dds attentiveness --compute-us 0,10,100 --operations 2000
)";

int usage(const std::string& what) {
  std::fprintf(stderr, "dds: %s (see dds --help)\n", what.c_str());
  return 2;
}

bool parse_number(const char* text, uint32_t min, uint32_t max, uint32_t& to) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (end == text || *end != '\0' || value < min || value > max) return false;
  to = static_cast<uint32_t>(value);
  return true;
}

bool parse_list(const char* text, std::vector<double>& to) {
  to.clear();
  for (const char* at = text; *at != '\0';) {
    char* end = nullptr;
    const double value = std::strtod(at, &end);
    if (end == at || value < 0 || value > 1e6 || (*end != ',' && *end != '\0')) return false;
    to.push_back(value);
    at = *end == ',' ? end + 1 : end;
  }
  return !to.empty();
}

struct Command {
  std::string_view name;
  int (*run)(const Settings&);
};
constexpr Command kCommands[] = {{"components", &run_components},
                                 {"queue", &run_queue},
                                 {"hash", &run_table},
                                 {"attentiveness", &run_attentiveness}};

int parse(int count, char** words, Settings& settings) {
  static const option long_options[] = {
      {"fabric", required_argument, nullptr, 'f'},
      {"clients", required_argument, nullptr, 'c'},
      {"owners", required_argument, nullptr, 'o'},
      {"operations", required_argument, nullptr, 'n'},
      {"value-bytes", required_argument, nullptr, 'v'},
      {"method", required_argument, nullptr, 'm'},
      {"compute-us", required_argument, nullptr, 'u'},
      {"timeout", required_argument, nullptr, 't'},
      {"json", no_argument, nullptr, 'j'},
      {"help", no_argument, nullptr, 'h'},
      {},
  };
  TeamOptions& team = settings.team;
  uint32_t timeout = 300;
  for (int got = 0; (got = getopt_long(count, words, "", long_options, nullptr)) != -1;) {
    bool taken = true;
    switch (got) {
      case 'f':
        team.fabric = optarg;
        taken = team.fabric == "loop" || team.fabric == "verbs";
        break;
      case 'c':
        taken = parse_number(optarg, 1, kClientsMax, team.clients);
        break;
      case 'o':
        taken = parse_number(optarg, 1, kOwnersMax, team.owners);
        break;
      case 'n':
        taken = parse_number(optarg, 1, 1'000'000, settings.operations);
        break;
      case 'v':
        taken = parse_number(optarg, 8, 65536, settings.value_bytes);
        break;
      case 'm':
        settings.methods.emplace_back(optarg);
        break;
      case 'u':
        taken = parse_list(optarg, settings.compute_us);
        break;
      case 't':
        taken = parse_number(optarg, 1, 86'400, timeout);
        break;
      case 'j':
        settings.json = true;
        break;
      case 'h':
        std::fputs(kHelp, stdout);
        std::exit(0);
      default:
        return 2;
    }
    if (!taken) return usage("'" + std::string(optarg) + "' is not a valid value");
  }
  team.timeout = std::chrono::seconds(timeout);
  return optind == count - 1 ? 0 : usage("give one command");
}

}  // namespace
}  // namespace hat::bench

int main(int count, char** words) {
  using namespace hat::bench;
  Settings settings;
  if (const int status = parse(count, words, settings); status != 0) return status;
  const std::string_view name = words[optind];
  const auto* found = std::ranges::find(kCommands, name, &Command::name);
  if (found == std::end(kCommands)) return usage("unknown command '" + std::string(name) + "'");
  return found->run(settings);
}
