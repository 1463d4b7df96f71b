// SPDX-License-Identifier: Apache-2.0
#include "kv/cli/stats.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/quantities.h"

namespace hat {
namespace {

struct Figure {
  const char* name;
  int64_t hatkv::Stats::*value;
  bool is_bytes;
};

constexpr std::array kFigures = {
    Figure{"uptime_seconds", &hatkv::Stats::uptime_seconds, false},
    Figure{"records", &hatkv::Stats::records, false},
    Figure{"data_bytes", &hatkv::Stats::data_bytes, true},
    Figure{"file_bytes", &hatkv::Stats::file_bytes, true},
    Figure{"map_bytes", &hatkv::Stats::map_bytes, true},
    Figure{"map_growths", &hatkv::Stats::map_growths, false},
    Figure{"reader_waits", &hatkv::Stats::reader_waits, false},
    Figure{"commits", &hatkv::Stats::commits, false},
    Figure{"writes", &hatkv::Stats::writes, false},
    Figure{"syncs", &hatkv::Stats::syncs, false},
};

std::string line(std::string name, const std::string& value) {
  constexpr size_t kNameColumns = 16;
  name.resize(std::max(name.size(), kNameColumns), ' ');
  return name + " " + value + "\n";
}

}  // namespace

std::string stats_text(const hatkv::Stats& stats) {
  std::string text = line("version", stats.version) + line("durability", stats.durability) +
                     line("readers", std::to_string(stats.readers_in_use) + " of " +
                                         std::to_string(stats.readers));
  for (const Figure& figure : kFigures) {
    const int64_t value = stats.*figure.value;
    std::string words = std::to_string(value);
    if (figure.is_bytes) words += "  (" + size_text(static_cast<uint64_t>(value)) + ")";
    text += line(figure.name, words);
  }
  for (const auto& [name, calls] : stats.operations) {
    text += line("calls." + name, std::to_string(calls));
  }
  return text;
}

std::string stats_json(const hatkv::Stats& stats) {
  nlohmann::ordered_json all = {{"version", stats.version},
                                {"durability", stats.durability},
                                {"readers", stats.readers},
                                {"readers_in_use", stats.readers_in_use}};
  for (const Figure& figure : kFigures) all[figure.name] = stats.*figure.value;
  all["operations"] = stats.operations;
  // Replace bytes that are not UTF-8, because any program can answer at the server's address.
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace hat
