// SPDX-License-Identifier: Apache-2.0
// bench/engine/engine_bench.cc: the program engine_bench: makes one measurement of the RDMA engine
// and prints one line of JSON. The experiments bench/experiments/engine_*.py run it many times.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/arguments.h"
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
  peers      pinned memory, device objects and set-up time of --clients peers with one lane
             each: --protocol; --size: the most memory of a peer (max_pinned)

options:
  --fabric loop|verbs|model  default loop; verbs needs the devices rxe1 and rxe2 (./dev lab);
                             model: modelled hosts and network cards, in virtual time; only calls
                             and oneway
  --protocol NAME            default direct_write_imm
  --size BYTES               default 64
  --clients N                default 1
  --polling busy|event|adaptive   default busy
  --seconds S                default 1
  --confirm-each             oneway: the receiver confirms every message
  --zero-copy                oneway: send from registered memory, without copying it first
  --hardware NAME            model: the hosts and cards (bench/model/hardware.cc);
                             default skylake-connectx5
  --times COST=FACTOR        model: multiplies a cost of the hardware, such as doorbell=2
  --client-hosts N           model: hosts among which the clients are divided; default 9

examples:
  engine_bench calls --protocol rfp --size 4096
  engine_bench calls --fabric model --clients 64 --polling event --seconds 0.02
  engine_bench oneway --protocol hipower
  engine_bench peers --fabric verbs --clients 10 --size 150994944
)";

struct Measurement {
  std::string_view name;
  void (*run)(const Settings&);
};
constexpr Measurement kMeasurements[] = {
    {"calls", &measure_calls},   {"oneway", &measure_oneway}, {"flag", &measure_flag},
    {"memcpy", &measure_memcpy}, {"costs", &measure_costs},   {"peers", &measure_peers},
};

Result<void> read_protocol(const std::string& name, Settings& settings) {
  const auto found = engine::find_protocol(name);
  if (!found) return unexpected_value(name, "a protocol, as docs/protocols.md names it");
  settings.protocol = &engine::protocol(*found);
  return {};
}

Result<void> multiply_cost(const std::string& value, model::Hardware& hardware) {
  const size_t equals = value.find('=');
  model::Time* cost = model::find_cost(hardware, value.substr(0, equals));
  if (equals == std::string::npos || cost == nullptr) {
    return unexpected_value(value, "COST=FACTOR, with one of the costs " + model::cost_names());
  }
  double factor = 1;
  HAT_TRY_VOID(read_number(factor, 0.0, 1000.0)(value.substr(equals + 1)));
  *cost = model::Time(static_cast<int64_t>(factor * static_cast<double>(cost->count())));
  return {};
}

Result<Action> parse(const std::vector<std::string>& arguments, Settings& settings,
                     std::string& measurement) {
  Arguments parser("engine_bench");
  parser.option("--fabric", read_one_of({"loop", "verbs", "model"}, [&](size_t index) {
                  settings.fabric = std::array{"loop", "verbs", "model"}[index];
                }));
  const char* only_model = nullptr;  // an option that was given and is only for the fabric `model`
  parser.option("--hardware", read_one_of(model::hardware_names(), [&](size_t index) {
                  only_model = "--hardware";
                  settings.hardware = *model::find_hardware(model::hardware_names()[index]);
                }));
  parser.option("--times", [&](const std::string& value) {  // read after --hardware
    only_model = "--times";
    settings.times = value;
    return multiply_cost(value, settings.hardware);
  });
  parser.option("--client-hosts", [&](const std::string& value) {
    only_model = "--client-hosts";
    return read_number(settings.client_hosts, 1u, 1000u)(value);
  });
  parser.option("--protocol",
                [&](const std::string& name) { return read_protocol(name, settings); });
  parser.option("--size", read_number(settings.bytes));
  parser.option("--clients", read_number(settings.clients));
  parser.option(
      "--polling", read_one_of({"busy", "event", "adaptive"}, [&](size_t index) {
        constexpr Polling kModes[] = {Polling::kBusy, Polling::kEvent, Polling::kAdaptive};
        settings.polling = kModes[index];
      }));
  parser.option("--seconds", read_number(settings.seconds, 0.001, 86400.0, "seconds"));
  parser.flag("--confirm-each", settings.confirm_each);
  parser.flag("--zero-copy", settings.zero_copy);
  for (const Measurement& one : kMeasurements) parser.command(std::string(one.name));
  HAT_TRY(const Action action, parser.parse(arguments));
  measurement = parser.chosen_command();
  const bool is_model = settings.fabric == "model";
  const bool is_modelled = measurement == "calls" || measurement == "oneway";
  if (is_model && (!is_modelled || settings.polling == Polling::kAdaptive)) {
    return fail(ErrorCode::kInvalid,
                "--fabric model has only calls and oneway, with busy or event polling");
  }
  if (is_model && settings.zero_copy) {
    return fail(ErrorCode::kInvalid, "--zero-copy does not go with --fabric model");
  }
  if (!is_model && only_model != nullptr) {
    return fail(ErrorCode::kInvalid, std::string(only_model) + " needs --fabric model");
  }
  return action;
}

}  // namespace
}  // namespace hat::bench

int main(int argc, char** argv) {
  using namespace hat::bench;
  Settings settings;
  std::string measurement;
  const auto action = parse({argv + 1, argv + argc}, settings, measurement);
  if (!action) {
    std::fprintf(stderr, "engine_bench: %s (see engine_bench --help)\n",
                 action.error().message.c_str());
    return 2;
  }
  if (*action == hat::Action::kShowHelp) return std::fputs(kHelp, stdout) < 0;
  if (*action == hat::Action::kShowVersion) return std::puts("engine_bench " HAT_VERSION) < 0;
  std::ranges::find(kMeasurements, measurement, &Measurement::name)->run(settings);
  return 0;
}
