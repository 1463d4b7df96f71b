// SPDX-License-Identifier: Apache-2.0
// kv/limits.h: the limits of HatKV's keys, values, requests and answers.
//
// A stock libthrift rejects frames larger than 16 384 000 bytes. The limits of batches and pages
// stay well below that, so that the bytes that Thrift's encoding adds fit as well.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hat {

constexpr size_t kKeyBytesMax = 511;  // LMDB's MDB_MAXKEYSIZE in a stock build
constexpr size_t kValueBytesMax = 8 << 20;
constexpr size_t kBatchPairsMax = 10'000;  // pairs or keys of one multiget or multiput
// Keys and values of one multiput, or values of one multiget's answer.
constexpr size_t kBatchBytesMax = 12 << 20;
constexpr size_t kPagePairsMax = 10'000;   // pairs of one scan's answer
constexpr size_t kPagePairsDefault = 100;  // if the caller gives no limit
// A scan's answer ends after the pair that reaches this size.
constexpr size_t kPageBytesMax = 1 << 20;

// The number of members that a list in a request may declare. The server does not answer a request
// that declares more. The value is far above the limit of a batch, so that a batch that is too
// large reaches the store, which rejects it with a readable message.
constexpr int kContainerMax = 1'000'000;

constexpr uint32_t kReadersMax = 10'000;  // concurrent read transactions, by option or by hint
constexpr uint32_t kTimeoutSecondsMax = 86'400;

// Limits of the writes that one commit gathers. A single write may exceed kGroupBytesMax.
constexpr size_t kGroupWritesMax = 1024;
constexpr size_t kGroupBytesMax = 4 << 20;

}  // namespace hat
