// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/landings.h"

#include <algorithm>

#include "daemon/proxy/zero_copy.h"

namespace hat {

bool Landings::give_back(const Used& landing) {
  return landing.memory->stream == nullptr || landing.memory->stream->unreserve(landing.data);
}

void Landings::handled(const std::byte* payload) {
  const auto found = std::ranges::find(landings_, payload, &Used::data);
  if (found == landings_.end()) return;
  const Used landing = std::move(*found);
  landings_.erase(found);
  if (!give_back(landing)) bytes_landed_.add(landing.bytes);
}

// From now on the ring takes other bytes in these spaces, which can be the same bytes over TCP. No
// READ of the lane writes there later: LaneSet::end_deferred() has destroyed the lane's queue pair.
// If that function has only retired the lane (QueuePair::settled()), the lane is of the loop
// fabric: this thread itself copies the bytes of a READ, and none after the queue pair has failed.
// Before this call, the ring accepts no other bytes (ByteStream::reserve()).
void Landings::lane_gone(uint32_t lane) {
  std::erase_if(landings_, [lane](const Used& landing) {
    if (landing.lane != lane) return false;
    give_back(landing);
    return true;
  });
}

engine::Landing BulkReceiver::landing(ByteStream& stream, const LandingAsker& asker, size_t bytes) {
  if (bytes < BulkSender::kBytesMin) return {};
  const auto space = stream.reserve(bytes);
  if (space.empty()) return {};
  if (!asker.is_next) {
    stream.unreserve(space.data());
    return {.later = true};
  }
  auto memory = memory_.with(asker.memory, stream);
  if (!memory) {
    stream.unreserve(space.data());
    return {};
  }
  const uint32_t lkey = memory->region->lkey();
  asker.landings.add(asker.lane, space, std::move(memory));
  return {space.data(), lkey};
}

}  // namespace hat
