// SPDX-License-Identifier: Apache-2.0
#include "kv/cli/commands.h"

#include <thrift/TApplicationException.h>
#include <thrift/transport/TTransportException.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "base/quantities.h"
#include "kv/cli/client.h"
#include "kv/cli/stats.h"
#include "kv/cli/text.h"
#include "kv/limits.h"

namespace hat {
namespace {

using hatkv::HatKVClient;

constexpr int32_t kScanPagePairs = 1000;

void write_out(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int get(HatKVClient& client, const CommandOptions& options) {
  const char* end = options.raw ? "" : "\n";
  std::vector<hatkv::Lookup> found;
  if (options.words.size() == 1) {
    client.get(found.emplace_back().value, options.words[0]);  // throws if the key does not exist
    found[0].found = true;
  } else {
    client.multiget(found, options.words);
  }
  int status = EXIT_SUCCESS;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].found) {
      write_out(found[i].value);
      write_out(end);
    } else {
      status = complain("no such key: " + escape(options.words[i]), kExitRefused);
    }
  }
  return status;
}

int put(HatKVClient& client, const CommandOptions& options) {
  std::string value = options.words[1];
  if (value == "-") value.assign(std::istreambuf_iterator<char>(std::cin), {});
  client.put(options.words[0], value);
  return EXIT_SUCCESS;
}

int del(HatKVClient& client, const CommandOptions& options) {
  int status = EXIT_SUCCESS;
  for (const std::string& key : options.words) {
    if (!client.remove(key)) status = complain("no such key: " + escape(key), kExitRefused);
  }
  return status;
}

int scan(HatKVClient& client, const CommandOptions& options) {
  hatkv::Range range;
  range.start = options.start;
  range.before = options.before;
  if (!options.words.empty()) range.prefix = options.words[0];
  uint64_t left = options.limit == 0 ? UINT64_MAX : options.limit;
  for (;;) {
    hatkv::Page page;
    client.scan(page, range, static_cast<int32_t>(std::min<uint64_t>(left, kScanPagePairs)));
    for (const hatkv::Pair& pair : page.pairs) {
      write_out(escape(pair.key));
      if (!options.keys) write_out("\t" + escape(pair.value));
      write_out("\n");
    }
    left -= page.pairs.size();
    if (page.resume.empty() || left == 0) return EXIT_SUCCESS;
    range.start = page.resume;
  }
}

int stats(HatKVClient& client, const CommandOptions& options) {
  hatkv::Stats stats;
  client.stats(stats);
  write_out(options.json ? stats_json(stats) : stats_text(stats));
  return EXIT_SUCCESS;
}

int backup(HatKVClient& client, const CommandOptions& options) {
  hatkv::Backup backup;
  client.backup(backup, options.words[0]);
  std::printf("%s: %s\n", backup.folder.c_str(),
              size_text(static_cast<uint64_t>(backup.bytes)).c_str());
  return EXIT_SUCCESS;
}

struct Command {
  std::string_view name;
  int (*run)(HatKVClient& client, const CommandOptions& options);  // nullptr: run_load()
};

constexpr std::array kCommands = {Command{"get", get},      Command{"put", put},
                                  Command{"del", del},      Command{"scan", scan},
                                  Command{"load", nullptr}, Command{"stats", stats},
                                  Command{"backup", backup}};

int connect_and_run(const Command& command, CommandOptions options) {
  if (command.run == nullptr) return run_load(options);
  if (command.name == "backup") options.timeout_s = 0;  // no timeout: a backup can take very long
  const auto client = connect_to_kv(options);
  if (!client) return complain(client.error().message, kExitUnreachable);
  return command.run(**client, options);
}

}  // namespace

bool is_command(std::string_view name) {
  return std::ranges::find(kCommands, name, &Command::name) != kCommands.end();
}

int run_command(std::string_view name, const CommandOptions& options) {
  int status = EXIT_SUCCESS;
  try {
    status = connect_and_run(*std::ranges::find(kCommands, name, &Command::name), options);
  } catch (const hatkv::NotFound& missing) {
    return complain("no such key: " + escape(missing.key), kExitRefused);
  } catch (const hatkv::Refused& refused) {
    return complain("refused: " + refused.reason, kExitRefused);
  } catch (const std::exception& error) {
    return complain("no reply from " + to_string(options.connect) + ": " + error.what(),
                    kExitUnreachable);
  }
  if (std::fflush(stdout) != 0) return complain("cannot write to standard output", kExitRefused);
  return status;
}

int complain(std::string_view message, int exit_code) {
  std::fprintf(stderr, "hatkv: %.*s\n", static_cast<int>(message.size()), message.data());
  return exit_code;
}

}  // namespace hat
