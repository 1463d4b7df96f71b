// SPDX-License-Identifier: Apache-2.0
#include "engine/link/hello.h"

#include <algorithm>
#include <cstring>

namespace hat::engine {
namespace {

constexpr uint32_t kMagic = 0x4c544148;  // "HATL"
constexpr size_t kNodeBytesMax = 255;

// Little-endian. The names Hello::node and Hello::peer follow, then Hello::cores if they are there.
struct HelloHeader {
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
static_assert(sizeof(CoreCounts) == 8);
static_assert(std::has_unique_object_representations_v<CoreCounts>);

// Returns true if configuration files allow the character `c` in names (config/names.h).
bool may_be_in_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

// Decodes the bytes after the names, which must be a CoreCounts.
Result<CoreCounts> decode_cores(Bytes bytes) {
  CoreCounts cores;
  if (bytes.size() != sizeof cores) {
    return fail(ErrorCode::kProtocol, "the hello has " + std::to_string(bytes.size()) +
                                          " bytes after its names, not 0 or " +
                                          std::to_string(sizeof cores) +
                                          ": update the hatrpcd that has the older version");
  }
  std::memcpy(&cores, bytes.data(), sizeof cores);
  return cores;
}

}  // namespace

std::vector<std::byte> encode(const Hello& hello) {
  const HelloHeader header{kMagic,
                           hello.version_min,
                           hello.version_max,
                           hello.generation,
                           static_cast<uint16_t>(hello.node.size()),
                           static_cast<uint16_t>(hello.peer.size()),
                           hello.legs};
  std::vector<std::byte> out;
  const auto append = [&out](const void* data, size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    out.insert(out.end(), bytes, bytes + size);
  };
  append(&header, sizeof header);
  append(hello.node.data(), hello.node.size());
  append(hello.peer.data(), hello.peer.size());
  if (hello.cores) append(&*hello.cores, sizeof *hello.cores);
  return out;
}

Result<Hello> decode_hello(Bytes payload) {
  HelloHeader header;
  if (payload.size() < sizeof header) return fail(ErrorCode::kProtocol, "the hello is too short");
  std::memcpy(&header, payload.data(), sizeof header);
  if (header.magic != kMagic)
    return fail(ErrorCode::kProtocol, "the hello has no HATL magic: is that a hatrpcd link?");
  if (header.node_bytes == 0 || header.node_bytes > kNodeBytesMax ||
      header.peer_bytes > kNodeBytesMax ||
      payload.size() < sizeof header + header.node_bytes + header.peer_bytes) {
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
  Hello hello{header.version_min,
              header.version_max,
              header.generation,
              header.legs,
              std::string(names, header.node_bytes),
              std::string(names + header.node_bytes, header.peer_bytes),
              std::nullopt};
  const Bytes rest = payload.subspan(sizeof header + header.node_bytes + header.peer_bytes);
  if (!rest.empty()) {
    HAT_TRY(hello.cores, decode_cores(rest));
  }
  return hello;
}

}  // namespace hat::engine
