// SPDX-License-Identifier: Apache-2.0
// kv/store/durability.h: the levels of durability of acknowledged writes, and the writes that can
// be lost at each level.
//
// A write is acknowledged after the commit of its transaction. At every level, the kernel then has
// all bytes of the write, so that the write survives the end of the process, even by kill -9. The
// levels differ in the writes that a crash of the machine (power, kernel) can lose.
//
// Source   LMDB's MDB_NOMETASYNC and MDB_NOSYNC; Redis' `appendfsync everysec`.
#pragma once

#include <lmdb.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hat {

enum class Durability : uint8_t { kSync, kNoMetaSync, kEverySec, kNoSync };

struct DurabilityLevel {
  Durability level;
  std::string_view name;
  unsigned lmdb_flags;
  bool waits_for_disk;     // each commit waits for the disk before its writes are acknowledged
  bool syncs_each_second;  // a background thread syncs the store once a second
  std::string_view costs;  // the cost of a commit, as text
  std::string_view crash;  // the data that a crash of the machine can lose, as text
};

constexpr std::array kDurabilityLevels = {
    DurabilityLevel{Durability::kSync, "sync", 0, true, false, "two waits for the disk",
                    "no acknowledged write"},
    DurabilityLevel{Durability::kNoMetaSync, "nometasync", MDB_NOMETASYNC, true, false,
                    "one wait for the disk", "the last commit; the store stays intact"},
    DurabilityLevel{Durability::kEverySec, "everysec", MDB_NOSYNC, false, true, "no wait",
                    "about the last second, and possibly the store: keep backups"},
    DurabilityLevel{
        Durability::kNoSync, "nosync", MDB_NOSYNC, false, false, "no wait",
        "everything that the kernel had not written, and possibly the store: keep backups"},
};

constexpr const DurabilityLevel& describe(Durability level) {
  return kDurabilityLevels[static_cast<size_t>(level)];
}

constexpr std::optional<Durability> find_durability(std::string_view name) {
  for (const DurabilityLevel& row : kDurabilityLevels) {
    if (row.name == name) return row.level;
  }
  return std::nullopt;
}

}  // namespace hat
