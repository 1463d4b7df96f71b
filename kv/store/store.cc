// SPDX-License-Identifier: Apache-2.0
// kv/store/store.cc: the key-value store, which keeps keys and values in LMDB.
#include "kv/store/store.h"

#include <algorithm>
#include <chrono>

#include "kv/limits.h"

namespace hat {
namespace {

using Cursor = Owned<MDB_cursor, mdb_cursor_close>;

Result<void> check_key(std::string_view key) {
  if (key.empty()) return fail(ErrorCode::kInvalid, "the key is empty; keys have 1 to 511 bytes");
  if (key.size() > kKeyBytesMax) {
    return fail(ErrorCode::kInvalid,
                "the key has " + std::to_string(key.size()) + " bytes; keys have 1 to 511 bytes");
  }
  return {};
}

Result<void> check_value(std::string_view value) {
  if (value.size() <= kValueBytesMax) return {};
  return fail(ErrorCode::kInvalid, "the value has " + std::to_string(value.size()) +
                                       " bytes; values have at most " +
                                       std::to_string(kValueBytesMax));
}

Result<void> check_batch(size_t pairs, size_t bytes) {
  if (pairs > kBatchPairsMax) {
    return fail(ErrorCode::kInvalid, "the batch has " + std::to_string(pairs) + " keys; at most " +
                                         std::to_string(kBatchPairsMax) + " fit into one call");
  }
  if (bytes > kBatchBytesMax) {
    return fail(ErrorCode::kInvalid, "the batch has more than " + std::to_string(kBatchBytesMax) +
                                         " bytes of keys and values; send smaller batches");
  }
  return {};
}

MDB_val as_mdb(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};  // LMDB does not modify this input
}

std::string_view as_view(const MDB_val& bytes) {
  return {static_cast<const char*>(bytes.mv_data), bytes.mv_size};
}

Result<std::optional<std::string>> look_up(MDB_txn* transaction, MDB_dbi table,
                                           std::string_view key) {
  HAT_TRY_VOID(check_key(key));
  MDB_val mdb_key = as_mdb(key);
  MDB_val value;
  const int code = mdb_get(transaction, table, &mdb_key, &value);
  if (code == MDB_NOTFOUND) return std::nullopt;
  if (code != 0)
    return fail(ErrorCode::kSystem, std::string("cannot read the key: ") + mdb_strerror(code));
  return std::string(as_view(value));
}

// Makes the changes of one write in a transaction. Returns 0, or LMDB's error code.
int make_changes(MDB_txn* transaction, MDB_dbi table, Write& write) {
  write.removed = 0;  // reset, because a write runs again, after an attempt that found the map full
  for (const Change& change : write.changes) {
    MDB_val key = as_mdb(change.key);
    if (change.kind == Change::Kind::kRemove) {
      const int code = mdb_del(transaction, table, &key, nullptr);
      if (code != 0 && code != MDB_NOTFOUND) return code;
      write.removed += code == 0;
      continue;
    }
    MDB_val value = as_mdb(change.value);
    if (const int code = mdb_put(transaction, table, &key, &value, 0); code != 0) return code;
  }
  return 0;
}

// Returns true if `key` is after the end of the range. The key must not be before the range's
// start.
bool is_behind(std::string_view key, const Store::Range& range) {
  return (!range.before.empty() && key >= range.before) || !key.starts_with(range.prefix);
}

}  // namespace

Store::Store(std::unique_ptr<Environment> environment)
    : environment_(std::move(environment)),
      group_commit_([this](std::span<Write* const> group) { commit(group); }) {}

Result<std::unique_ptr<Store>> Store::open(const EnvironmentOptions& options) {
  HAT_TRY(auto environment, Environment::open(options));
  return std::unique_ptr<Store>(new Store(std::move(environment)));
}

Result<std::optional<std::string>> Store::get(std::string_view key) {
  HAT_TRY(const ReaderPool::Lease reader, environment_->read());
  return look_up(reader.transaction(), environment_->table(), key);
}

Result<std::vector<std::optional<std::string>>> Store::multiget(std::span<const std::string> keys) {
  HAT_TRY_VOID(check_batch(keys.size(), 0));
  HAT_TRY(const ReaderPool::Lease reader, environment_->read());
  std::vector<std::optional<std::string>> values;
  values.reserve(keys.size());
  size_t bytes = 0;
  for (const std::string& key : keys) {
    HAT_TRY(auto value, look_up(reader.transaction(), environment_->table(), key));
    bytes += value ? value->size() : 0;
    HAT_TRY_VOID(check_batch(keys.size(), bytes));
    values.push_back(std::move(value));
  }
  return values;
}

Result<Store::Page> Store::scan(const Range& range, size_t limit) {
  HAT_TRY(const ReaderPool::Lease reader, environment_->read());
  MDB_cursor* raw = nullptr;
  int code = mdb_cursor_open(reader.transaction(), environment_->table(), &raw);
  if (code != 0) return fail(ErrorCode::kSystem, std::string("cannot scan: ") + mdb_strerror(code));
  const Cursor cursor(raw);

  const std::string_view from = std::max(range.start, range.prefix);
  MDB_val key = as_mdb(from);
  MDB_val value;
  code = mdb_cursor_get(raw, &key, &value, from.empty() ? MDB_FIRST : MDB_SET_RANGE);
  Page page;
  size_t bytes = 0;
  for (; code == 0 && !is_behind(as_view(key), range);
       code = mdb_cursor_get(raw, &key, &value, MDB_NEXT)) {
    if (page.pairs.size() >= limit || bytes >= kPageBytesMax) {
      page.resume = as_view(key);
      return page;
    }
    page.pairs.emplace_back(as_view(key), as_view(value));
    bytes += key.mv_size + value.mv_size;
  }
  if (code != 0 && code != MDB_NOTFOUND) {
    return fail(ErrorCode::kSystem, std::string("cannot scan: ") + mdb_strerror(code));
  }
  return page;
}

Result<void> Store::put(std::string_view key, std::string_view value, Patience patience) {
  const Entry entry{key, value};
  return multiput({&entry, 1}, patience);
}

Result<void> Store::multiput(std::span<const Entry> entries, Patience patience) {
  std::vector<Change> changes;
  changes.reserve(entries.size());
  size_t bytes = 0;
  for (const Entry& entry : entries) {
    HAT_TRY_VOID(check_key(entry.key));
    HAT_TRY_VOID(check_value(entry.value));
    bytes += entry.key.size() + entry.value.size();
    changes.push_back({Change::Kind::kPut, entry.key, entry.value});
  }
  HAT_TRY_VOID(check_batch(entries.size(), bytes));
  if (entries.empty()) return {};
  HAT_TRY_VOID(write(changes, patience));
  return {};
}

Result<bool> Store::remove(std::string_view key, Patience patience) {
  HAT_TRY_VOID(check_key(key));
  const Change change{Change::Kind::kRemove, key, {}};
  HAT_TRY(const size_t removed, write({&change, 1}, patience));
  return removed != 0;
}

Result<size_t> Store::write(std::span<const Change> changes, Patience patience) {
  Write write{.changes = changes, .patience = patience};
  group_commit_.run(write);
  HAT_TRY_VOID(std::move(write.result));
  return write.removed;
}

// Commits a group of writes in one transaction. If this fails, commits each write alone, so that
// only the writes that fail alone are refused. The function is noexcept, because other threads wait
// for their results: if memory runs out, the process ends, and has acknowledged only writes that
// are committed.
void Store::commit(std::span<Write* const> group) noexcept {
  const auto together = commit_together(group);
  for (Write* write : group) {
    write->result = together || group.size() == 1 ? together : commit_together({&write, 1});
  }
}

Result<void> Store::commit_together(std::span<Write* const> group) {
  const auto begun = std::chrono::steady_clock::now();
  HAT_TRY_VOID(environment_->write([&](MDB_txn* transaction) {
    for (Write* write : group) {
      const int code = make_changes(transaction, environment_->table(), *write);
      if (code != 0) return code;
    }
    return 0;
  }));
  const auto took = std::chrono::steady_clock::now() - begun;
  writes_per_commit_.add(group.size());
  commit_times_.add(took);
  return {};
}

Result<Store::Statistics> Store::statistics() {
  Statistics statistics;
  HAT_TRY(statistics.usage, environment_->usage());
  statistics.writes_per_commit = writes_per_commit_.read();
  statistics.commit_times = commit_times_.read();
  statistics.writes_waiting = group_commit_.waiting();
  return statistics;
}

Result<void> Store::check() {
  HAT_TRY_VOID(environment_->read());
  return {};
}

}  // namespace hat
