// SPDX-License-Identifier: Apache-2.0
#include "engine/link/hello.h"

#include <algorithm>
#include <cstring>

namespace hat::engine {
namespace {

constexpr uint32_t kMagic = 0x4c544148;  // "HATL"
constexpr size_t kNodeBytesMax = 255;

struct HelloHeader {  // little-endian; the names Hello::node and Hello::peer follow
  uint32_t magic = kMagic;
  uint16_t version_min = 0;
  uint16_t version_max = 0;
  uint64_t generation = 0;
  uint16_t node_bytes = 0;
  uint16_t peer_bytes = 0;
  uint32_t legs = 0;
};
static_assert(sizeof(HelloHeader) == 24);
static_assert(std::has_unique_object_representations_v<HelloHeader>);

}  // namespace

std::vector<std::byte> encode(const Hello& hello) {
  const HelloHeader header{kMagic,
                           hello.version_min,
                           hello.version_max,
                           hello.generation,
                           static_cast<uint16_t>(hello.node.size()),
                           static_cast<uint16_t>(hello.peer.size()),
                           hello.legs};
  std::vector<std::byte> out(sizeof header + hello.node.size() + hello.peer.size());
  std::memcpy(out.data(), &header, sizeof header);
  std::memcpy(out.data() + sizeof header, hello.node.data(), hello.node.size());
  std::memcpy(out.data() + sizeof header + hello.node.size(), hello.peer.data(), hello.peer.size());
  return out;
}

// Returns true if configuration files allow the character `c` in names (config/names.h).
static bool may_be_in_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

Result<Hello> decode_hello(Bytes payload) {
  HelloHeader header;
  if (payload.size() < sizeof header) return fail(ErrorCode::kProtocol, "the hello is too short");
  std::memcpy(&header, payload.data(), sizeof header);
  if (header.magic != kMagic)
    return fail(ErrorCode::kProtocol, "the hello has no HATL magic: is that a hatrpcd link?");
  if (header.node_bytes == 0 || header.node_bytes > kNodeBytesMax ||
      header.peer_bytes > kNodeBytesMax ||
      payload.size() != sizeof header + header.node_bytes + header.peer_bytes) {
    return fail(ErrorCode::kProtocol, "the names in the hello have wrong lengths");
  }
  if (header.version_min > kLinkVersion || header.version_max < kLinkVersionMin) {
    return fail(ErrorCode::kUnsupported,
                "the peer speaks link versions " + std::to_string(header.version_min) + " to " +
                    std::to_string(header.version_max) + ", this daemon speaks " +
                    std::to_string(kLinkVersionMin) + " to " + std::to_string(kLinkVersion));
  }
  const auto* names = reinterpret_cast<const char*>(payload.data()) + sizeof header;
  if (!std::all_of(names, names + header.node_bytes + header.peer_bytes, may_be_in_a_name)) {
    return fail(ErrorCode::kProtocol,
                "the hello's names have characters that a node's name may not have");
  }
  return Hello{header.version_min,
               header.version_max,
               header.generation,
               header.legs,
               std::string(names, header.node_bytes),
               std::string(names + header.node_bytes, header.peer_bytes)};
}

}  // namespace hat::engine
