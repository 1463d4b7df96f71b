// SPDX-License-Identifier: Apache-2.0
// kv/server/handler.cc: converts the store's results to answers of the service HatKV.
#include "kv/server/handler.h"

#include <algorithm>
#include <utility>

#include "kv/limits.h"

namespace hat {
namespace {

using std::chrono::steady_clock;

[[noreturn]] void refuse(std::string reason) {
  hatkv::Refused refused;
  refused.reason = std::move(reason);
  throw refused;
}

template <class T>
T value_or_refuse(Result<T> result) {
  if (!result) refuse(std::move(result.error().message));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Throws Refused unless the name is a single path component, so that a client cannot make the
// server write outside the folder for backups.
void check_backup_name(const std::string& name) {
  const auto is_plain = [](unsigned char letter) {
    return std::isalnum(letter) || letter == '-' || letter == '_' || letter == '.';
  };
  if (name.empty() || name.size() > 200 || name.front() == '.' ||
      !std::ranges::all_of(name, is_plain)) {
    refuse("'" + name + "' is not a valid backup name: use letters, digits, '-', '_' and '.'");
  }
}

}  // namespace

template <class Body>
void KvHandler::counted(Operation operation, Body&& body) {
  OperationCounters& counters = operations_[operation];
  const auto begun = steady_clock::now();
  const auto ended = [&](Outcome outcome) {
    counters.durations.add(steady_clock::now() - begun);
    counters.ended(outcome);
  };
  try {
    body();
  } catch (const hatkv::NotFound&) {
    ended(Outcome::kNotFound);
    throw;
  } catch (...) {
    ended(Outcome::kRefused);
    throw;
  }
  ended(Outcome::kOk);
}

void KvHandler::get(std::string& value, const std::string& key) {
  counted(Operation::kGet, [&] {
    std::optional<std::string> found = value_or_refuse(store_.get(key));
    if (!found) {
      hatkv::NotFound missing;
      missing.key = key;
      throw missing;
    }
    value = std::move(*found);
  });
}

void KvHandler::put(const std::string& key, const std::string& value) {
  counted(Operation::kPut,
          [&] { value_or_refuse(store_.put(key, value, facts_.tuning.put_patience)); });
}

void KvHandler::multiget(std::vector<hatkv::Lookup>& found, const std::vector<std::string>& keys) {
  counted(Operation::kMultiget, [&] {
    for (std::optional<std::string>& value : value_or_refuse(store_.multiget(keys))) {
      hatkv::Lookup& lookup = found.emplace_back();
      lookup.found = value.has_value();
      if (value) lookup.value = std::move(*value);
    }
  });
}

void KvHandler::multiput(const std::vector<hatkv::Pair>& pairs) {
  counted(Operation::kMultiput, [&] {
    std::vector<Store::Entry> entries;
    entries.reserve(pairs.size());
    for (const hatkv::Pair& pair : pairs) entries.push_back({pair.key, pair.value});
    value_or_refuse(store_.multiput(entries, facts_.tuning.multiput_patience));
  });
}

bool KvHandler::remove(const std::string& key) {
  bool was_there = false;
  counted(Operation::kRemove,
          [&] { was_there = value_or_refuse(store_.remove(key, facts_.tuning.remove_patience)); });
  return was_there;
}

void KvHandler::scan(hatkv::Page& page, const hatkv::Range& range, int32_t limit) {
  counted(Operation::kScan, [&] {
    if (limit < 0) refuse("the limit is " + std::to_string(limit) + ", but must be 0 or more");
    const size_t pairs = limit == 0 ? kPagePairsDefault : static_cast<size_t>(limit);
    Store::Page found = value_or_refuse(
        store_.scan({range.start, range.before, range.prefix}, std::min(pairs, kPagePairsMax)));
    page.pairs.reserve(found.pairs.size());
    for (auto& [key, value] : found.pairs) {
      hatkv::Pair& pair = page.pairs.emplace_back();
      pair.key = std::move(key);
      pair.value = std::move(value);
    }
    page.resume = std::move(found.resume);
  });
}

void KvHandler::stats(hatkv::Stats& stats) {
  counted(Operation::kStats, [&] {
    const Store::Statistics now = value_or_refuse(store_.statistics());
    const auto whole = [](uint64_t count) { return static_cast<int64_t>(count); };
    stats.version = facts_.version;
    stats.durability = facts_.durability;
    stats.uptime_seconds =
        std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - begun_).count();
    stats.records = whole(now.usage.records);
    stats.data_bytes = whole(now.usage.data_bytes);
    stats.file_bytes = whole(now.usage.file_bytes);
    stats.map_bytes = whole(now.usage.map_bytes);
    stats.map_growths = whole(now.usage.growths);
    stats.readers = static_cast<int32_t>(now.usage.readers);
    stats.readers_in_use = static_cast<int32_t>(now.usage.readers_in_use);
    stats.reader_waits = whole(now.usage.reader_waits);
    stats.commits = whole(now.writes_per_commit.count());
    stats.writes = whole(now.writes_per_commit.sum);
    stats.syncs = whole(now.usage.syncs);
    for (size_t i = 0; i < kOperationNames.size(); ++i) {
      stats.operations[std::string(kOperationNames[i])] = whole(operations_.counters[i].calls());
    }
  });
}

void KvHandler::backup(hatkv::Backup& backup, const std::string& name) {
  counted(Operation::kBackup, [&] {
    if (facts_.backups.empty()) {
      refuse("this server makes no backups: start it with --backups FOLDER");
    }
    check_backup_name(name);
    backup.folder = facts_.backups + "/" + name;
    backup.bytes = static_cast<int64_t>(value_or_refuse(store_.backup(backup.folder)));
  });
}

}  // namespace hat
