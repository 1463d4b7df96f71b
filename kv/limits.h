// SPDX-License-Identifier: Apache-2.0
// kv/limits.h: how much a key, a value, a request and an answer of HatKV may hold.
//
// A stock libthrift refuses frames over 16 384 000 bytes: what a batch or a page may hold stays
// clear of that, with Thrift's own bytes on top.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hat {

constexpr size_t kKeyBytesMax = 511;  // MDB_MAXKEYSIZE of a stock LMDB
constexpr size_t kValueBytesMax = 8 << 20;
constexpr size_t kBatchPairsMax = 10'000;    // of one multiget or multiput
constexpr size_t kBatchBytesMax = 12 << 20;  // keys and values of one multiget's answer or multiput
constexpr size_t kPagePairsMax = 10'000;     // of one scan's answer
constexpr size_t kPagePairsDefault = 100;    // where the caller names no limit
constexpr size_t kPageBytesMax = 1 << 20;  // one scan's answer ends after the pair that reaches it

// What a list in a request may say it has; more is not answered. It is far above what a batch
// may hold, so that the store refuses those in words.
constexpr int kContainerMax = 1'000'000;

constexpr uint32_t kReadersMax = 10'000;  // at once, by option or hint
constexpr uint32_t kTimeoutSecondsMax = 86'400;

// What one commit may gather. One request alone may be larger than a group's bytes.
constexpr size_t kGroupWritesMax = 1024;
constexpr size_t kGroupBytesMax = 4 << 20;

}  // namespace hat
