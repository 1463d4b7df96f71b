// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/places.h"

#include <algorithm>

namespace hat {

void Places::give_back(const Used& place) {
  if (place.memory->stream != nullptr) place.memory->stream->unreserve(place.data);
}

void Places::handled(const std::byte* payload) {
  const auto found = std::ranges::find(places_, payload, &Used::data);
  if (found == places_.end()) return;
  const Used place = std::move(*found);
  places_.erase(found);
  give_back(place);
}

void Places::lane_gone(uint32_t lane) {
  std::erase_if(places_, [lane](const Used& place) {
    if (place.lane != lane) return false;
    give_back(place);
    return true;
  });
}

engine::Place BulkReceiver::place(ByteStream& stream, const PlaceAsker& asker, size_t bytes) {
  if (bytes < BulkSender::kBytesMin) return {};
  const auto space = stream.reserve(bytes);
  if (space.empty()) return {};
  if (!asker.is_next) {
    stream.unreserve(space.data());
    return {.later = true};
  }
  auto memory = memory_.with(asker.fabric, stream);
  if (!memory) {
    stream.unreserve(space.data());
    return {};
  }
  const uint32_t lkey = memory->region->lkey();
  asker.places.add(asker.lane, space.data(), std::move(memory));
  bytes_placed_.add(bytes);
  return {space.data(), lkey};
}

}  // namespace hat
