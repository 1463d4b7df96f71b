// SPDX-License-Identifier: Apache-2.0
#include "bench/dds/calls.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace hat::bench {
namespace {

enum class What : uint64_t { kInsert, kFind, kPush, kPop };

struct RequestHead {
  What what;
  uint64_t key;
};

struct ReplyHead {
  Outcome outcome;
  std::array<std::byte, 7> reserved{};
};
static_assert(sizeof(ReplyHead) == 8);

// Calls the owner with `head` and the value `in`. If the reply has a value, copies the value to
// `out`. Returns the outcome that the owner has sent, or kLost if the call failed.
Outcome call(engine::Initiator& owner, const RequestHead& head, std::span<const std::byte> in,
             std::span<std::byte> out) {
  std::byte* request = owner.request().data();
  std::memcpy(request, &head, sizeof head);
  std::ranges::copy(in, request + sizeof head);
  const auto reply = owner.call(sizeof head + in.size());
  ReplyHead answer{Outcome::kLost};
  if (!reply || reply->size() < sizeof answer) return Outcome::kLost;
  std::memcpy(&answer, reply->data(), sizeof answer);
  const auto value = reply->subspan(sizeof answer);
  if (answer.outcome == Outcome::kDone && value.size() < out.size()) return Outcome::kLost;
  if (answer.outcome == Outcome::kDone) std::ranges::copy(value.first(out.size()), out.begin());
  return answer.outcome;
}

}  // namespace

engine::CallHandler CallStore::handler() {
  return [this](std::span<const std::byte> request, std::span<std::byte> reply) {
    return answer(request, reply);
  };
}

size_t CallStore::answer(std::span<const std::byte> request, std::span<std::byte> reply) {
  ReplyHead answer{Outcome::kLost};
  size_t bytes = 0;
  RequestHead head{};
  if (request.size() >= sizeof head) {
    std::memcpy(&head, request.data(), sizeof head);
    const auto in = request.subspan(sizeof head);
    const auto out = reply.subspan(sizeof answer);
    if (head.what == What::kInsert && in.size() == table_.value_bytes()) {
      answer.outcome = table_.insert(head.key, in);
    } else if (head.what == What::kFind) {
      answer.outcome = table_.find(head.key, out);
      bytes = table_.value_bytes();
    } else if (head.what == What::kPush && in.size() == queue_.value_bytes()) {
      answer.outcome = queue_.push(in);
    } else if (head.what == What::kPop) {
      answer.outcome = queue_.pop(out);
      bytes = queue_.value_bytes();
    }
  }
  std::memcpy(reply.data(), &answer, sizeof answer);
  return sizeof answer + (answer.outcome == Outcome::kDone ? bytes : 0);
}

Outcome CallQueue::push(std::span<const std::byte> value) {
  return call(owner_, {What::kPush, 0}, value.first(value_bytes_), {});
}

Outcome CallQueue::pop(std::span<std::byte> value) {
  return call(owner_, {What::kPop, 0}, {}, value.first(value_bytes_));
}

engine::Initiator& CallTable::owner_of(uint64_t key) const {
  // Use the upper bits of the hash, because the lower bits choose the bucket.
  return *owners_[(XXH3_64bits(&key, sizeof key) >> 32) % owners_.size()];
}

Outcome CallTable::insert(uint64_t key, std::span<const std::byte> value) {
  return call(owner_of(key), {What::kInsert, key}, value.first(value_bytes_), {});
}

Outcome CallTable::find(uint64_t key, std::span<std::byte> value) {
  return call(owner_of(key), {What::kFind, key}, {}, value.first(value_bytes_));
}

}  // namespace hat::bench
