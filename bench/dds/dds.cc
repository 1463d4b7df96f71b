// SPDX-License-Identifier: Apache-2.0
// bench/dds/dds.cc: the program dds: measures a distributed queue and hash table, accessed by
// one-sided RDMA operations and by calls, and compares the times with a cost model.
#include <algorithm>
#include <cstdio>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "base/arguments.h"
#include "base/number.h"
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

struct Command {
  std::string_view name;
  int (*run)(const Settings&);
};
constexpr Command kCommands[] = {{"components", &run_components},
                                 {"queue", &run_queue},
                                 {"hash", &run_table},
                                 {"attentiveness", &run_attentiveness}};

constexpr double kComputeMax = 1e6;  // µs

// Reads numbers that are separated by commas.
Result<void> read_compute_times(const std::string& text, std::vector<double>& into) {
  into.clear();
  for (const auto part : std::views::split(text, ',')) {
    const auto found = parse_number<double>(std::string_view(part.begin(), part.end()));
    if (!found || !(*found >= 0 && *found <= kComputeMax)) {
      return unexpected_value(text, "microseconds from 0 to 1000000, separated by commas");
    }
    into.push_back(*found);
  }
  return {};
}

Result<Action> parse(const std::vector<std::string>& arguments, Settings& settings,
                     std::string& command) {
  TeamOptions& team = settings.team;
  uint32_t timeout = 300;
  Arguments parser("dds");
  parser.option("--fabric", read_one_of({"loop", "verbs"}, [&team](size_t index) {
                  team.fabric = index == 0 ? "loop" : "verbs";
                }));
  parser.option("--clients", read_number<uint32_t>(team.clients, 1, kClientsMax));
  parser.option("--owners", read_number<uint32_t>(team.owners, 1, kOwnersMax));
  parser.option("--operations", read_number<uint32_t>(settings.operations, 1, 1'000'000));
  parser.option("--value-bytes", read_number<uint32_t>(settings.value_bytes, 8, 65536));
  parser.option("--method", [&settings](const std::string& name) -> Result<void> {
    settings.methods.push_back(name);
    return {};
  });
  parser.option("--compute-us", [&settings](const std::string& text) {
    return read_compute_times(text, settings.compute_us);
  });
  parser.option("--timeout", read_number<uint32_t>(timeout, 1, 86'400, "seconds"));
  parser.flag("--json", settings.json);
  for (const Command& one : kCommands) parser.command(std::string(one.name));
  HAT_TRY(const Action action, parser.parse(arguments));
  team.timeout = std::chrono::seconds(timeout);
  command = parser.chosen_command();
  return action;
}

}  // namespace
}  // namespace hat::bench

int main(int argc, char** argv) {
  using namespace hat::bench;
  Settings settings;
  std::string command;
  const auto action = parse({argv + 1, argv + argc}, settings, command);
  if (!action) {
    std::fprintf(stderr, "dds: %s (see dds --help)\n", action.error().message.c_str());
    return 2;
  }
  if (*action == hat::Action::kShowHelp) return std::fputs(kHelp, stdout) < 0;
  if (*action == hat::Action::kShowVersion) return std::puts("dds " HAT_VERSION) < 0;
  return std::ranges::find(kCommands, command, &Command::name)->run(settings);
}
