// SPDX-License-Identifier: Apache-2.0
#include "engine/link/lane_messages.h"

#include <cstring>

namespace hat::engine {
namespace {

constexpr size_t kReachBytesMax = 255;

struct OpenHead {
  LaneShape out;
  LaneShape back;
  LaneClass lanes{};
  uint8_t reach_bytes = 0;  // the length of the text LaneOpen::reach, which follows this struct
  uint16_t reserved = 0;
};
static_assert(sizeof(OpenHead) == 20);

template <class T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto* raw = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), raw, raw + sizeof value);
}

// Moves the first sizeof(T) bytes of `payload` to `value`. Returns false if `payload` is too short.
template <class T>
bool take(Bytes& payload, T& value) {
  if (payload.size() < sizeof value) return false;
  std::memcpy(&value, payload.data(), sizeof value);
  payload = payload.subspan(sizeof value);
  return true;
}

std::unexpected<Error> refuse(const char* what) {
  return fail(ErrorCode::kProtocol,
              std::string("the peer sent an invalid message about an RDMA lane: ") + what);
}

}  // namespace

std::vector<std::byte> encode(const LaneOpen& open) {
  const OpenHead head{.out = open.wish.out,
                      .back = open.wish.back,
                      .lanes = open.wish.lanes,
                      .reach_bytes = static_cast<uint8_t>(open.reach.size())};
  std::vector<std::byte> bytes;
  append(bytes, head);
  const auto reach = std::as_bytes(std::span(open.reach)).first(head.reach_bytes);
  bytes.insert(bytes.end(), reach.begin(), reach.end());
  return bytes;
}

std::vector<std::byte> encode(const LaneAccept& accept) {
  std::vector<std::byte> bytes;
  append(bytes, accept.back);
  append(bytes, accept.offer);
  return bytes;
}

std::vector<std::byte> encode(const LaneOffer& offer) {
  std::vector<std::byte> bytes;
  append(bytes, offer);
  return bytes;
}

Result<LaneOpen> decode_lane_open(Bytes payload) {
  OpenHead head;
  if (!take(payload, head)) return refuse("it is too short");
  if (payload.size() != head.reach_bytes || head.reach_bytes > kReachBytesMax) {
    return refuse("it has the wrong length");
  }
  if (head.lanes > LaneClass::kThroughput)
    return refuse("it names a class of lanes that does not exist");
  for (const LaneShape& shape : {head.out, head.back}) {
    if (const char* what = invalid(shape)) return refuse(what);
  }
  LaneOpen open{.wish = {head.lanes, head.out, head.back}};
  open.reach.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
  return open;
}

Result<LaneAccept> decode_lane_accept(Bytes payload) {
  LaneAccept accept;
  if (!take(payload, accept.back) || !take(payload, accept.offer) || !payload.empty()) {
    return refuse("it has the wrong length");
  }
  if (const char* what = invalid(accept.back)) return refuse(what);
  return accept;
}

Result<LaneOffer> decode_lane_offer(Bytes payload) {
  LaneOffer offer;
  if (!take(payload, offer) || !payload.empty()) return refuse("it has the wrong length");
  return offer;
}

}  // namespace hat::engine
