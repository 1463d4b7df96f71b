// SPDX-License-Identifier: Apache-2.0
// kv/limits.h: the limits of HatKV's keys, values, requests and answers.
//
// By default, libthrift rejects frames larger than 16,384,000 bytes. The limits of batches and
// pages are lower, because Thrift's encoding adds bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hat {

constexpr size_t kKeyBytesMax = 511;  // LMDB's MDB_MAXKEYSIZE in a stock build
constexpr size_t kValueBytesMax = 8 << 20;
constexpr size_t kBatchPairsMax = 10'000;  // pairs or keys of one multiget or multiput
// The total size of the keys and values of one multiput, or of the values in one multiget's answer.
constexpr size_t kBatchBytesMax = 12 << 20;
constexpr size_t kPagePairsMax = 10'000;   // pairs of one scan's answer
constexpr size_t kPagePairsDefault = 100;  // if the caller gives no limit
// A scan's answer ends after the pair with which it reaches this size.
constexpr size_t kPageBytesMax = 1 << 20;

// The number of elements that a list in a request may declare. The server does not answer a request
// that declares more. The number is far above kBatchPairsMax, so that the store can reject a batch
// that is too large with a readable message.
constexpr int kContainerMax = 1'000'000;

constexpr uint32_t kReadersMax = 10'000;  // the highest number of concurrent reads that can be set
constexpr uint32_t kTimeoutSecondsMax = 86'400;

// Limits of the writes that share one commit. A single write may be larger than kGroupBytesMax.
constexpr size_t kGroupWritesMax = 1024;
constexpr size_t kGroupBytesMax = 4 << 20;

}  // namespace hat
