// SPDX-License-Identifier: Apache-2.0
#include "kv/store/environment.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/system_error.h"

namespace hat {
namespace {

constexpr mdb_mode_t kFileMode = 0640;
constexpr uint32_t kOtherReaders = 16;  // reader slots for backups and for LMDB's tools

std::unexpected<Error> lmdb_failed(const std::string& doing, int code) {
  std::string message = doing + ": " + mdb_strerror(code);
  if (code == MDB_PANIC) message += "; the store refuses writes until hatkv is started again";
  return fail(ErrorCode::kSystem, std::move(message));
}

std::unexpected<Error> sync_failed(const std::string& folder, int code) {
  return lmdb_failed(
      folder + ": cannot sync the store to disk; a crash of the machine may lose the last writes",
      code);
}

std::unexpected<Error> system_failed(const std::string& doing) { return fail_errno(doing, errno); }

// Syncs a folder, because a new file survives a crash of the machine only after its folder is
// synced. EINVAL (from file systems that cannot sync folders) and EROFS (from read-only file
// systems) do not count as errors.
Result<void> sync_folder(const std::string& path) {
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0) return system_failed(path + ": cannot open this folder to sync it");
  const int error = fsync(opened.get()) == 0 ? 0 : errno;
  if (error == 0 || error == EINVAL || error == EROFS) return {};
  return fail_errno(path + ": cannot sync this folder", error);
}

// Syncs `folder` and the folders above it. The entry of a new folder is in its parent folder, and
// create_directories() can have created several levels. The loop ends at a folder that this process
// may not read, because this process can neither sync such a folder nor have created it.
Result<void> sync_folder_and_those_above(const std::string& folder) {
  std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  for (;; path = path.parent_path()) {
    if (access(path.c_str(), R_OK) != 0) return {};
    HAT_TRY_VOID(sync_folder(path));
    if (path == path.root_path()) return {};
  }
}

// Creates the store's file if it does not exist. LMDB does not sync the first pages of a new file,
// so a crash at that moment would leave a file that cannot be opened. Therefore this function
// creates the file in another folder, syncs the file, and renames it: the file is complete or does
// not exist. If the file exists, only syncs the store's folder, because the process that created
// the file can have ended before it synced the folder.
Result<void> make_store(const std::string& folder) {
  const std::string file = folder + "/data.mdb";
  std::error_code error;
  if (std::filesystem::exists(file, error)) return sync_folder(folder);
  HAT_TRY_VOID(sync_folder_and_those_above(folder));
  const std::string partial = folder + "/new.partial";
  std::filesystem::remove_all(partial, error);
  std::filesystem::create_directories(partial, error);
  if (error) return fail_errno(partial + ": cannot make this folder", error.value());
  MDB_env* raw = nullptr;
  if (const int code = mdb_env_create(&raw); code != 0) return lmdb_failed(partial, code);
  const Owned<MDB_env, mdb_env_close> environment(raw);
  int code = mdb_env_open(raw, partial.c_str(), 0, kFileMode);
  if (code == 0) code = mdb_env_sync(raw, 1);
  if (code != 0) return lmdb_failed(partial + ": cannot make a store", code);
  std::filesystem::rename(partial + "/data.mdb", file, error);
  if (error) return fail_errno(file + ": cannot make this file", error.value());
  std::filesystem::remove_all(partial, error);
  const auto synced = sync_folder(folder);
  // After a failed sync, remove the file, because a later sync could succeed although data is lost.
  if (!synced) std::filesystem::remove(file, error);
  return synced;
}

uint64_t whole_pages(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

Result<uint64_t> sync_file(const std::string& path) {
  const Descriptor opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (opened.get() < 0) return system_failed(path);
  if (fdatasync(opened.get()) != 0) return system_failed(path + ": cannot sync");
  return static_cast<uint64_t>(lseek(opened.get(), 0, SEEK_END));
}

// Returns true if the address space has space for a second map, of `bytes` bytes. grow() checks
// this first, because LMDB unmaps the old map before it maps the new one, which could then fail.
bool has_room_for_map(uint64_t bytes) {
  void* space = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return false;
  munmap(space, bytes);
  return true;
}

[[noreturn]] void end_without_map(uint64_t bytes, int code) {
  std::fprintf(stderr,
               "hatkv: cannot map %llu bytes of the store: %s; hatkv ends, and keeps all "
               "committed data: start hatkv again\n",
               static_cast<unsigned long long>(bytes), mdb_strerror(code));
  std::_Exit(EXIT_FAILURE);
}

// Returns the number of concurrent readers: `wanted`, or fewer if LMDB's lock file has fewer slots.
// The first program that opens the lock file sets the number of slots.
uint32_t readers_of(MDB_env* environment, uint32_t wanted) {
  unsigned slots = 0;
  mdb_env_get_maxreaders(environment, &slots);
  const uint32_t readers = slots > kOtherReaders ? slots - kOtherReaders : 1;
  if (readers >= wanted) return wanted;
  std::fprintf(
      stderr,
      "hatkv: only %u concurrent readers, not %u: another program holds a smaller LMDB lock file; "
      "start hatkv again when that program has ended\n",
      readers, wanted);
  return readers;
}

}  // namespace

Environment::Environment(const EnvironmentOptions& options, Descriptor folder, Handle handle)
    : options_(options),
      durability_(describe(options.durability)),
      locked_folder_(std::move(folder)),
      handle_(std::move(handle)),
      readers_(handle_.get(), readers_of(handle_.get(), options.readers)) {}

Environment::~Environment() {
  syncer_.request_stop();
  if (syncer_.joinable()) syncer_.join();
  if (table_ != 0) (void)sync();
}

Result<Descriptor> Environment::lock(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail_errno(folder + ": cannot make this folder", error.value());
  Descriptor locked(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (locked.get() < 0) return system_failed(folder + ": cannot open this folder");
  if (flock(locked.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::kBusy,
                folder + ": another hatkv has this store open; give each hatkv its own folder");
  }
  return locked;
}

Result<Environment::Handle> Environment::open_lmdb(const EnvironmentOptions& options) {
  const std::string& folder = options.folder;
  MDB_env* raw = nullptr;
  if (const int code = mdb_env_create(&raw); code != 0) return lmdb_failed(folder, code);
  Handle handle(raw);
  const uint64_t map_bytes = whole_pages(std::min(options.map_bytes, options.max_bytes));
  if (const int code = mdb_env_set_mapsize(raw, map_bytes); code != 0) {
    return lmdb_failed(folder + ": cannot map " + std::to_string(map_bytes) + " bytes", code);
  }
  mdb_env_set_maxreaders(raw, options.readers + kOtherReaders);
  // With MDB_NOTLS, a reader slot belongs to a transaction and not to a thread. This is needed
  // because ReaderPool passes transactions between threads.
  const unsigned flags = MDB_NOTLS | describe(options.durability).lmdb_flags;
  if (const int code = mdb_env_open(raw, folder.c_str(), flags, kFileMode); code != 0) {
    return lmdb_failed(folder + ": cannot open the store", code);
  }
  int dead_readers = 0;
  mdb_reader_check(raw, &dead_readers);
  return handle;
}

Result<std::unique_ptr<Environment>> Environment::open(const EnvironmentOptions& options) {
  HAT_TRY(Descriptor locked, lock(options.folder));
  HAT_TRY_VOID(make_store(options.folder));
  HAT_TRY(Handle handle, open_lmdb(options));
  std::unique_ptr<Environment> environment(
      new Environment(options, std::move(locked), std::move(handle)));
  HAT_TRY_VOID(environment->open_table());
  if (environment->durability_.syncs_each_second) {
    environment->syncer_ = std::jthread(
        [self = environment.get()](const std::stop_token& stop) { self->sync_each_second(stop); });
  }
  return environment;
}

Result<void> Environment::open_table() {
  const int code = try_to_write(
      [&](MDB_txn* transaction) { return mdb_dbi_open(transaction, nullptr, 0, &table_); });
  if (code != 0) return lmdb_failed(options_.folder + ": cannot open the table", code);
  return {};
}

int Environment::try_to_write(const Changes& change) {
  MDB_txn* raw = nullptr;
  if (const int code = mdb_txn_begin(handle_.get(), nullptr, 0, &raw); code != 0) return code;
  Owned<MDB_txn, mdb_txn_abort> transaction(raw);
  if (const int code = change(raw); code != 0) return code;
  return mdb_txn_commit(transaction.release());
}

// Sets whether the next commit waits until its meta page is on disk, at the durability level
// `nometasync`. A commit's meta page makes the commit's other pages valid.
//
// At `nometasync`, a commit's meta page normally reaches the disk with the sync of the next commit.
// If this sync fails, the disk can keep an older meta page forever, while LMDB reuses the pages to
// which the older meta page refers. Therefore the commit after a failed sync waits for its own meta
// page. The first commit also waits, because a sync can have failed in an earlier process.
void Environment::wait_for_meta_page(bool waits) {
  if (options_.durability != Durability::kNoMetaSync) return;
  mdb_env_set_flags(handle_.get(), MDB_NOMETASYNC, waits ? 0 : 1);
}

uint64_t Environment::last_commit() const {
  MDB_envinfo info;
  mdb_env_info(handle_.get(), &info);
  return info.me_last_txnid;
}

Result<void> Environment::write(const Changes& change) {
  wait_for_meta_page(on_disk_ != OnDisk::kSure);
  const uint64_t before = last_commit();
  for (;;) {
    const int code = try_to_write(change);
    if (code == 0) break;
    if (code == MDB_MAP_FULL) {
      HAT_TRY_VOID(grow());
      continue;
    }
    const bool is_system_error = code > 0;
    if (is_system_error && options_.durability == Durability::kNoMetaSync) {
      on_disk_ = OnDisk::kDoubted;
    }
    return lmdb_failed("cannot write", code);
  }
  // Count the data as safe on disk only after a commit with changes. A transaction without changes
  // writes nothing, so its success proves nothing about the disk.
  if (durability_.waits_for_disk && last_commit() != before) on_disk_ = OnDisk::kSure;
  commits_.fetch_add(1, std::memory_order_relaxed);
  if (durability_.waits_for_disk) syncs_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// Doubles the map, up to options_.max_bytes. Only the writer calls it, between two transactions.
Result<void> Environment::grow() {
  const uint64_t full_at = map_bytes();
  const uint64_t larger = whole_pages(std::min(2 * full_at, options_.max_bytes));
  if (larger <= full_at) {
    return fail(ErrorCode::kExhausted, "the store is full: it has reached the " +
                                           std::to_string(full_at) +
                                           " bytes that --max-bytes allows");
  }
  int dead_readers = 0;
  mdb_reader_check(handle_.get(), &dead_readers);  // dead readers keep pages from being reused
  const std::scoped_lock no_copy(copying_);
  readers_.pause();
  const bool has_space = has_room_for_map(larger);
  if (has_space) {
    const int code = mdb_env_set_mapsize(handle_.get(), larger);
    if (code != 0) end_without_map(larger, code);
  }
  readers_.resume();
  if (!has_space) {
    return fail(ErrorCode::kExhausted, "the store is full at " + std::to_string(full_at) +
                                           " bytes: the address space of hatkv " +
                                           "has no space for a map of " + std::to_string(larger));
  }
  growths_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

int Environment::try_to_sync() {
  const int code = mdb_env_sync(handle_.get(), 1);
  if (code == 0) return code;
  sync_failures_.fetch_add(1, std::memory_order_relaxed);
  // At the durability level `sync`, each commit has already synced all of its pages, so a failed
  // sync of the whole store loses nothing.
  if (options_.durability != Durability::kSync) on_disk_ = OnDisk::kDoubted;
  return code;
}

Result<void> Environment::sync() {
  if (const int code = try_to_sync(); code != 0) return sync_failed(options_.folder, code);
  if (on_disk_ != OnDisk::kDoubted) return {};
  return fail(
      ErrorCode::kInvalid,
      options_.folder +
          ": a sync of the store failed earlier, so the disk may lack some of the writes "
          "before it, although later syncs succeeded; make a backup on another disk, and serve "
          "that one");
}

// Writes the copy under another name and then renames it, so that a folder named `folder` is always
// a complete copy. The other name begins with a dot, with which a backup's name may not begin.
Result<uint64_t> Environment::copy_to(const std::string& folder) {
  const std::scoped_lock one_at_a_time(backing_up_);
  std::error_code error;
  if (std::filesystem::exists(folder, error))
    return fail(ErrorCode::kBusy, folder + ": this backup already exists");
  const std::filesystem::path place(folder);
  const std::string partial = place.parent_path() / ("." + place.filename().string() + ".partial");
  std::filesystem::remove_all(partial, error);
  std::filesystem::create_directories(partial, error);
  if (error) return fail_errno(partial + ": cannot make this folder", error.value());
  const auto bytes = copy_into(partial, folder);
  if (!bytes) std::filesystem::remove_all(partial, error);
  return bytes;
}

Result<uint64_t> Environment::copy_into(const std::string& partial, const std::string& folder) {
  int code = 0;
  {
    const std::scoped_lock no_growth(copying_);
    code = mdb_env_copy2(handle_.get(), partial.c_str(), MDB_CP_COMPACT);
  }
  if (code != 0) return lmdb_failed(partial + ": cannot copy", code);
  HAT_TRY(const uint64_t bytes, sync_file(partial + "/data.mdb"));
  HAT_TRY_VOID(sync_folder_and_those_above(partial));
  std::error_code error;
  std::filesystem::rename(partial, folder, error);
  if (error) return fail_errno(folder + ": cannot rename " + partial + "", error.value());
  const std::string above = std::filesystem::absolute(folder).parent_path();
  if (const auto synced = sync_folder(above); !synced) {
    std::filesystem::remove_all(folder, error);
    return std::unexpected(synced.error());
  }
  return bytes;
}

uint64_t Environment::map_bytes() const {
  MDB_envinfo info;
  mdb_env_info(handle_.get(), &info);
  return info.me_mapsize;
}

Result<EnvironmentUsage> Environment::usage() {
  EnvironmentUsage usage;
  {
    HAT_TRY(const ReaderPool::Lease reader, read());
    MDB_stat stat;
    if (const int code = mdb_stat(reader.transaction(), table_, &stat); code != 0) {
      return lmdb_failed("cannot read the store's statistics", code);
    }
    MDB_envinfo info;
    mdb_env_info(handle_.get(), &info);
    usage.records = stat.ms_entries;
    usage.data_bytes =
        stat.ms_psize *
        static_cast<uint64_t>(stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages);
    usage.file_bytes = stat.ms_psize * static_cast<uint64_t>(info.me_last_pgno + 1);
    usage.map_bytes = info.me_mapsize;
  }
  usage.commits = commits_.load(std::memory_order_relaxed);
  usage.syncs = syncs_.load(std::memory_order_relaxed);
  usage.sync_failures = sync_failures_.load(std::memory_order_relaxed);
  usage.growths = growths_.load(std::memory_order_relaxed);
  usage.readers = readers_.limit();
  usage.readers_in_use = readers_.in_use();
  usage.reader_waits = readers_.waits();
  return usage;
}

void Environment::sync_each_second(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  uint64_t synced_commits = 0;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, std::chrono::seconds(1),
                           [&] { return stop.stop_requested(); })) {
    const uint64_t commits = commits_.load(std::memory_order_relaxed);
    if (commits == synced_commits) continue;
    if (const int code = try_to_sync(); code != 0) {
      std::fprintf(stderr, "hatkv: %s\n",
                   sync_failed(options_.folder, code).error().message.c_str());
      continue;
    }
    synced_commits = commits;
    syncs_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace hat
