// SPDX-License-Identifier: Apache-2.0
// kv/store/power_loss_test.cc: tests which writes each level of durability keeps if the power
// fails.
//
// The test defines pwrite(), writev(), fdatasync() and others itself, and so intercepts LMDB's
// system calls. It records the writes to the data file, the syncs and the acknowledgements as
// events on a tape. A crash is a position on the tape. After a crash, the disk has everything that
// was synced before, and any combination of the other written 4 KiB pages, because drives and
// kernels can write pages in any order. A failed sync also leaves such a combination, and later
// syncs do not repair it, because Linux marks pages that it could not write as clean. The test
// opens each such disk in a child process, because a damaged store can crash the process that reads
// it.
//
// Source   "Can Applications Recover from fsync Failures?", Rebello et al., USENIX ATC '20.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include "kv/store/store.h"

namespace hat {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr int kWrites = 120;
constexpr int kCrashes = 150;
constexpr int kCrashesAfterAFailure = 40;
constexpr size_t kSoon = 30;  // most events from a failed sync to a crash: about five commits

struct Event {
  enum class Kind { kWrite, kSync, kFailedSync, kAcknowledged } kind;
  off_t offset = 0;
  std::string bytes{};
  bool synced = false;  // of a kWrite: made through a descriptor with O_DSYNC
};

// The recorded events of one file.
class Tape {
 public:
  // Begins to record the events of the file `path`, whose bytes are `at_first`. The `failing`-th
  // sync of the file fails; 0: no sync fails.
  void record(const std::string& path, const std::string& at_first, int failing) {
    const std::scoped_lock lock(mutex_);
    path_ = path;
    syncs_ = 0;
    failing_ = failing;
    events_ = {{Event::Kind::kWrite, 0, at_first, true}};
  }
  std::vector<Event> stop() {
    const std::scoped_lock lock(mutex_);
    path_.clear();
    return std::move(events_);
  }
  void acknowledged() { add({Event::Kind::kAcknowledged}); }
  // Records a sync. Returns false if this sync must fail.
  bool synced(int descriptor) {
    if (!is_recorded(descriptor)) return true;
    const bool fails = ++syncs_ == failing_;
    add({fails ? Event::Kind::kFailedSync : Event::Kind::kSync});
    return !fails;
  }
  void written(int descriptor, off_t offset, const void* bytes, ssize_t count) {
    if (count <= 0 || !is_recorded(descriptor)) return;
    const bool is_synced = (fcntl(descriptor, F_GETFL) & O_DSYNC) != 0;
    add({Event::Kind::kWrite, offset,
         std::string(static_cast<const char*>(bytes), static_cast<size_t>(count)), is_synced});
  }

 private:
  void add(Event event) {
    const std::scoped_lock lock(mutex_);
    events_.push_back(std::move(event));
  }
  bool is_recorded(int descriptor) {
    const std::scoped_lock lock(mutex_);
    struct stat opened {};
    struct stat named {};
    return !path_.empty() && fstat(descriptor, &opened) == 0 && stat(path_.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  }

  std::mutex mutex_;
  std::string path_;
  std::vector<Event> events_;
  std::atomic<int> syncs_{0};
  int failing_ = 0;
};

Tape& tape() {
  static Tape one;
  return one;
}

enum class Failing {
  kNothing,
  kEverything,
  kSyncs,
  kMeta,  // the write of the meta page, which makes a commit valid
};

std::atomic<Failing> failing{Failing::kNothing};
std::atomic<int> folder_syncs{0};
std::atomic<int> failing_folder_sync{0};  // the number of the folder sync that fails; 0: none fails

}  // namespace
}  // namespace hat

extern "C" {

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  const bool is_meta = count < hat::kPageBytes;
  if (hat::failing == hat::Failing::kEverything ||
      (hat::failing == hat::Failing::kMeta && is_meta)) {
    errno = EIO;
    return -1;
  }
  const ssize_t done = syscall(SYS_pwrite64, descriptor, bytes, count, offset);
  hat::tape().written(descriptor, offset, bytes, done);
  return done;
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  const off_t offset = lseek(descriptor, 0, SEEK_CUR);
  const ssize_t done = syscall(SYS_write, descriptor, bytes, count);
  hat::tape().written(descriptor, offset, bytes, done);
  return done;
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  off_t offset = lseek(descriptor, 0, SEEK_CUR);
  const ssize_t done = syscall(SYS_writev, descriptor, parts, count);
  ssize_t left = done;
  for (int i = 0; i < count && left > 0; ++i) {
    const auto bytes = std::min(left, static_cast<ssize_t>(parts[i].iov_len));
    hat::tape().written(descriptor, offset, parts[i].iov_base, bytes);
    offset += bytes;
    left -= bytes;
  }
  return done;
}

// Records the sync and returns at once, because the tape takes the place of the disk.
int fdatasync(int descriptor) {
  if (hat::failing == hat::Failing::kEverything || hat::failing == hat::Failing::kSyncs) {
    errno = EIO;
    return -1;
  }
  if (hat::tape().synced(descriptor)) return 0;
  errno = EIO;
  return -1;
}

int fsync(int descriptor) {
  struct stat info {};
  const bool is_folder = fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode);
  if (is_folder && ++hat::folder_syncs == hat::failing_folder_sync) {
    errno = EIO;
    return -1;
  }
  if (hat::tape().synced(descriptor)) return 0;
  errno = EIO;
  return -1;
}

}  // extern "C"

namespace hat {
namespace {

using Contents = std::map<std::string, std::string>;
using Random = std::minstd_rand;

// The results of a run: the recorded events, and the store's contents after each acknowledged
// write.
struct Run {
  std::vector<Event> events;
  std::vector<Contents> after{{}};
  int refused = 0;
};

enum class AfterAFailure { kGoOn, kRestart };

Run write_much(const std::string& folder, Durability level, int failing_sync, AfterAFailure then) {
  Random random(7);
  Run run;
  const auto open = [&] {
    auto opened = Store::open({.folder = folder, .durability = level});
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(opened).value();
  };
  auto store = open();
  // Begin the tape with the file as it is now, because open() has synced everything that it wrote.
  std::ifstream made(folder + "/data.mdb", std::ios::binary);
  const std::string at_first(std::istreambuf_iterator<char>(made), {});
  tape().record(folder + "/data.mdb", at_first, failing_sync);
  for (int i = 1; i <= kWrites; ++i) {
    const std::string key = "k" + std::to_string(random() % 30);
    const std::string value(random() % 9000, static_cast<char>('a' + i % 26));
    const std::string count = std::to_string(i);
    Contents next = run.after.back();
    next["count"] = count;
    next[key] = value;
    const Store::Entry entries[] = {{"count", count}, {key, value}};
    if (!store->multiput(entries)) {
      ++run.refused;
      if (then == AfterAFailure::kRestart) {
        store.reset();
        store = open();
      }
      continue;
    }
    run.after.push_back(std::move(next));
    tape().acknowledged();
  }
  run.events = tape().stop();
  return run;
}

// Returns contents that the disk can have after the first `count` events. `survival` is the
// probability that a page that was not synced is on the disk.
std::string disk_after(const std::vector<Event>& events, size_t count, double survival,
                       Random& random) {
  // For each event: whether the next sync after the event succeeded.
  std::vector<bool> synced(count);
  for (size_t i = count, next_succeeds = 0; i-- > 0; synced[i] = next_succeeds != 0) {
    if (events[i].kind == Event::Kind::kSync) next_succeeds = 1;
    if (events[i].kind == Event::Kind::kFailedSync) next_succeeds = 0;
  }
  std::string disk;
  for (size_t i = 0; i < count; ++i) {
    const Event& event = events[i];
    for (size_t at = 0; event.kind == Event::Kind::kWrite && at < event.bytes.size();
         at += kPageBytes) {
      const bool survives =
          synced[i] || event.synced || std::bernoulli_distribution(survival)(random);
      if (!survives) continue;
      const std::string page = event.bytes.substr(at, kPageBytes);
      const size_t offset = static_cast<size_t>(event.offset) + at;
      disk.resize(std::max(disk.size(), offset + page.size()));
      disk.replace(offset, page.size(), page);
    }
  }
  return disk;
}

constexpr int kDamaged = -1;

// Returns the number of writes that the store in `folder` has, or kDamaged. Must run in a child
// process, because a damaged store can crash the process.
int writes_found(const std::string& folder, const std::vector<Contents>& after) {
  Contents found;
  const auto store = Store::open({.folder = folder, .durability = Durability::kNoSync});
  if (!store) return kDamaged;
  std::string start;
  do {
    const auto page = (*store)->scan({.start = start}, 1000);
    if (!page) return kDamaged;
    found.insert(page->pairs.begin(), page->pairs.end());
    start = page->resume;
  } while (!start.empty());
  const auto same = std::ranges::find(after, found);
  return same == after.end() ? kDamaged : static_cast<int>(same - after.begin());
}

int open_in_a_child(const std::string& folder, const std::vector<Contents>& after) {
  int answer[2];
  if (pipe(answer) != 0) return kDamaged;
  const pid_t child = fork();
  if (child == 0) {
    const int found = writes_found(folder, after);
    syscall(SYS_write, answer[1], &found, sizeof found);
    _exit(0);
  }
  close(answer[1]);
  int found = kDamaged;
  if (read(answer[0], &found, sizeof found) != sizeof found) found = kDamaged;
  close(answer[0]);
  waitpid(child, nullptr, 0);
  return found;
}

struct Losses {
  int damaged = 0;
  int most = 0;     // the most acknowledged writes that an undamaged store has lost
  int refused = 0;  // writes that the store did not acknowledge
};

// Records a run, simulates crashes at random positions of the tape (after a failed sync: soon after
// the failure), and returns the losses.
Losses lose_power(Durability level, int failing_sync = 0,
                  AfterAFailure then = AfterAFailure::kGoOn) {
  // Prefer a folder in memory, because writes with O_DSYNC wait for a real disk.
  const bool has_memory = std::filesystem::is_directory("/dev/shm");
  std::string folder = (has_memory ? "/dev/shm/" : testing::TempDir()) + "hatkv-power-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    ADD_FAILURE() << folder << ": cannot make this folder";
    return {};
  }
  const Run run = write_much(folder + "/run", level, failing_sync, then);
  const auto failed = std::ranges::find(run.events, Event::Kind::kFailedSync, &Event::kind);
  const bool has_failed = failed != run.events.end();
  const size_t first = has_failed ? static_cast<size_t>(failed - run.events.begin()) : 0;
  const size_t events = std::min(run.events.size() - first, has_failed ? kSoon : SIZE_MAX);
  Random random(11);
  Losses losses{.refused = run.refused};
  const int crashes = has_failed ? kCrashesAfterAFailure : kCrashes;
  for (int i = 0; i < crashes; ++i) {
    const size_t count = first + 1 + random() % events;
    const double survival = std::array{0.0, 0.1, 0.5, 0.9, 1.0}[random() % 5];
    const auto acknowledged = static_cast<int>(
        std::count_if(run.events.begin(), run.events.begin() + static_cast<ptrdiff_t>(count),
                      [](const Event& event) { return event.kind == Event::Kind::kAcknowledged; }));
    const std::string disk = folder + "/disk";
    std::filesystem::create_directories(disk);
    std::ofstream(disk + "/data.mdb", std::ios::binary)
        << disk_after(run.events, count, survival, random);
    const int found = open_in_a_child(disk, run.after);
    std::filesystem::remove_all(disk);
    if (found == kDamaged) ++losses.damaged;
    if (found != kDamaged) losses.most = std::max(losses.most, acknowledged - found);
  }
  std::filesystem::remove_all(folder);
  std::printf(
      "%s, failing sync %d: %d crashes, %d stores damaged, at most %d acknowledged writes lost by "
      "others\n",
      std::string(describe(level).name).c_str(), failing_sync, crashes, losses.damaged,
      losses.most);
  return losses;
}

TEST(PowerLoss, AStoreThatWasBeingMadeIsWholeOrNotThere) {
  std::string folder = testing::TempDir() + "hatkv-power-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  // Make the files that remain if a crash happens during the first open().
  std::filesystem::create_directories(folder + "/new.partial");
  std::ofstream(folder + "/new.partial/data.mdb") << std::string(kPageBytes, '\0');
  {
    const auto store = Store::open({.folder = folder});
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_TRUE((*store)->put("k", "v"));
    EXPECT_FALSE(std::filesystem::exists(folder + "/new.partial"));
  }
  std::filesystem::remove_all(folder);
}

class FailingDisk : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override {
    failing = Failing::kNothing;
    failing_folder_sync = 0;
    std::filesystem::remove_all(folder_);
  }
  // Runs `work`, and returns how often it synced a folder.
  static int count_folder_syncs(const std::function<void()>& work) {
    folder_syncs = failing_folder_sync = 0;
    work();
    return folder_syncs;
  }

  std::string folder_ = testing::TempDir() + "hatkv-failing-XXXXXX";
};

TEST_F(FailingDisk, FailedSyncsAreCountedAndTold) {
  const auto opened = Store::open({.folder = folder_, .durability = Durability::kEverySec});
  ASSERT_TRUE(opened) << opened.error().message;
  const auto& store = *opened;
  ASSERT_TRUE(store->put("k", "v"));
  failing = Failing::kEverything;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (store->statistics()->usage.sync_failures == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(store->statistics()->usage.sync_failures, 1u);
  const auto synced = store->sync();
  ASSERT_FALSE(synced);
  EXPECT_NE(synced.error().message.find("cannot sync"), std::string::npos);
  // A later sync must fail too, because the writes that the failed sync lost are still not on disk.
  failing = Failing::kNothing;
  ASSERT_TRUE(store->put("k", "w"));
  const auto again = store->sync();
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("a sync of the store failed earlier"), std::string::npos);
}

TEST_F(FailingDisk, ALevelThatWaitsForTheDiskIsSureAgainAfterAWholeCommit) {
  for (const Durability level : {Durability::kSync, Durability::kNoMetaSync}) {
    const auto opened = Store::open({.folder = folder_ + "/data", .durability = level});
    ASSERT_TRUE(opened) << opened.error().message;
    const auto& store = *opened;
    ASSERT_TRUE(store->put("k", "v"));
    failing = Failing::kSyncs;
    EXPECT_FALSE(store->put("k", "w"));
    failing = Failing::kNothing;
    const bool is_doubted = level == Durability::kNoMetaSync;
    EXPECT_NE(is_doubted, store->sync().has_value());
    ASSERT_TRUE(store->remove("not there"));  // a commit without a change
    EXPECT_NE(is_doubted, store->sync().has_value());
    ASSERT_TRUE(store->put("k", "w"));
    EXPECT_TRUE(store->sync());
  }
}

TEST_F(FailingDisk, ABackupThatFailsLeavesNothing) {
  const auto opened = Store::open({.folder = folder_ + "/data", .durability = Durability::kNoSync});
  ASSERT_TRUE(opened) << opened.error().message;
  failing = Failing::kEverything;
  EXPECT_FALSE((*opened)->backup(folder_ + "/backups/one"));
  failing = Failing::kNothing;
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/backups"));
  EXPECT_TRUE((*opened)->backup(folder_ + "/backups/one"));
}

// Opens a new store once for each folder sync that open() makes (of the store's folder, and of the
// folders above it), and lets another one of these syncs fail each time.
TEST_F(FailingDisk, AFolderThatCannotBeSyncedOnceIsToldAndSyncedByTheNextOpen) {
  const std::string folder = folder_ + "/a/b/data";
  const auto begin_anew = [&] { std::filesystem::remove_all(folder_ + "/a"); };
  const int all = count_folder_syncs([&] { ASSERT_TRUE(Store::open({.folder = folder})); });
  EXPECT_GT(all, std::ranges::count(folder, '/')) << "it and all above";
  for (int fails = 1; fails <= all; ++fails) {
    begin_anew();
    folder_syncs = 0;
    failing_folder_sync = fails;
    const auto opened = Store::open({.folder = folder});
    ASSERT_FALSE(opened) << fails;
    EXPECT_NE(opened.error().message.find("cannot sync this folder: Input/output error"),
              std::string::npos)
        << opened.error().message;
    EXPECT_FALSE(std::filesystem::exists(folder + "/data.mdb"));
    const int again = count_folder_syncs([&] { ASSERT_TRUE(Store::open({.folder = folder})); });
    EXPECT_EQ(again, all) << fails;
  }
}

TEST_F(FailingDisk, ABackupWhoseFoldersCannotBeSyncedLeavesNothing) {
  const auto opened = Store::open({.folder = folder_ + "/data", .durability = Durability::kNoSync});
  ASSERT_TRUE(opened) << opened.error().message;
  const std::string backup = folder_ + "/backups/one";
  const int all = count_folder_syncs([&] { ASSERT_TRUE((*opened)->backup(backup)); });
  for (int fails = 1; fails <= all; ++fails) {
    std::filesystem::remove_all(folder_ + "/backups");
    folder_syncs = 0;
    failing_folder_sync = fails;
    EXPECT_FALSE((*opened)->backup(backup)) << fails;
    EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/backups")) << fails;
  }
}

TEST_F(FailingDisk, AStoreThatCannotBeReadAnyMoreSaysSo) {
  const auto opened = Store::open({.folder = folder_});
  ASSERT_TRUE(opened) << opened.error().message;
  const auto& store = *opened;
  failing = Failing::kEverything;
  EXPECT_FALSE(store->put("k", "v"));
  failing = Failing::kNothing;
  EXPECT_TRUE(store->check());
  EXPECT_TRUE(store->put("k", "v"));
  failing = Failing::kMeta;
  EXPECT_FALSE(store->put("k", "w"));
  failing = Failing::kNothing;
  EXPECT_FALSE(store->check());
}

TEST(PowerLoss, SyncLosesNothing) {
  const Losses losses = lose_power(Durability::kSync);
  EXPECT_EQ(losses.damaged, 0);
  EXPECT_EQ(losses.most, 0);
}

TEST(PowerLoss, NoMetaSyncLosesTheLastCommitAtMost) {
  const Losses losses = lose_power(Durability::kNoMetaSync);
  EXPECT_EQ(losses.damaged, 0);
  EXPECT_EQ(losses.most, 1);
}

constexpr int kFailingSyncs[] = {1, 2, 3, 10, 40, 100};

TEST(PowerLoss, SyncLosesNothingAfterASyncThatFailed) {
  for (const auto then : {AfterAFailure::kGoOn, AfterAFailure::kRestart}) {
    for (const int failing_sync : kFailingSyncs) {
      const Losses losses = lose_power(Durability::kSync, failing_sync, then);
      EXPECT_EQ(losses.damaged, 0) << failing_sync;
      EXPECT_EQ(losses.most, 0) << failing_sync;
      EXPECT_EQ(losses.refused, 1) << failing_sync;
    }
  }
}

TEST(PowerLoss, NoMetaSyncLosesTheLastCommitAtMostAfterASyncThatFailed) {
  for (const auto then : {AfterAFailure::kGoOn, AfterAFailure::kRestart}) {
    for (const int failing_sync : kFailingSyncs) {
      const Losses losses = lose_power(Durability::kNoMetaSync, failing_sync, then);
      EXPECT_EQ(losses.damaged, 0) << failing_sync;
      EXPECT_LE(losses.most, 1) << failing_sync;
      EXPECT_EQ(losses.refused, 1) << failing_sync;
    }
  }
}

// Checks that the simulation detects losses: the level `nosync` is documented to lose data.
TEST(PowerLoss, NoSyncMayLoseAndDamage) {
  const Losses losses = lose_power(Durability::kNoSync);
  EXPECT_GT(losses.damaged, 0);
  EXPECT_GT(losses.most, 1);
}

}  // namespace
}  // namespace hat
