// SPDX-License-Identifier: Apache-2.0
// engine/protocols.h: lists the RDMA protocols by name. A protocol is a pair of legs: one leg for
// requests and one for replies. A leg is a way to move one message from its sender S to its
// receiver R. The hint `protocol` uses the names in this list.
//
// Source: HatRPC (SC'21) 3.1 and Figure 3; HiPower (NPC'19).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hat::engine {

enum class Leg : uint8_t {
  kSend,              // S copies the message into a slot and SENDs the slot
  kWriteSend,         // S WRITEs the message into R's window, then SENDs a notice in a second post
  kChainedWriteSend,  // as kWriteSend, but S posts the WRITE and the SEND together
  kWriteImm,          // S WRITEs the message into R's window with one WRITE_WITH_IMM
  kWriteRndv,         // S announces the message, R offers a buffer, S WRITEs the message in chunks
  kReadRndv,          // S announces the message, R READs the message in chunks
  kFetch0,            // R READs the message from S's slot, without a READ of metadata (RFP)
  kFetch1,            // as kFetch0, after one READ of metadata (FaRM)
  kFetch2,            // as kFetch0, after two READs of metadata (Pilaf)
  // S WRITEs the message into R's slot and flips the slot's bit in a bitmap at S, which R READs
  // (HiPower).
  kBitmap,
};
inline constexpr size_t kLegCount = 10;

// Returns the bit of `leg` in a set of legs.
constexpr uint32_t bit_of(Leg leg) { return 1u << static_cast<uint32_t>(leg); }
inline constexpr uint32_t kAllLegs = (1u << kLegCount) - 1;

struct Protocol {
  std::string_view name;
  Leg request;
  Leg response;
  Leg beyond;  // the leg for messages that are too large for a slot, for requests and replies alike
  std::string_view source;  // the paper that describes the protocol
};

inline constexpr std::array kProtocols = {
    Protocol{"eager", Leg::kSend, Leg::kSend, Leg::kWriteRndv, "HatRPC 3.1, Eager-SendRecv"},
    Protocol{"direct_write_send", Leg::kWriteSend, Leg::kWriteSend, Leg::kWriteRndv,
             "HatRPC 3.1, Direct-Write-Send"},
    Protocol{"chained_write_send", Leg::kChainedWriteSend, Leg::kChainedWriteSend, Leg::kWriteRndv,
             "HatRPC 3.1, Chained-Write-Send"},
    Protocol{"direct_write_imm", Leg::kWriteImm, Leg::kWriteImm, Leg::kWriteRndv,
             "HatRPC 3.1, Direct-WriteIMM"},
    Protocol{"write_rndv", Leg::kWriteRndv, Leg::kWriteRndv, Leg::kWriteRndv,
             "HatRPC 3.1, Write-RNDV"},
    Protocol{"read_rndv", Leg::kReadRndv, Leg::kReadRndv, Leg::kReadRndv, "HatRPC 3.1, Read-RNDV"},
    Protocol{"hybrid_eager_rndv", Leg::kSend, Leg::kSend, Leg::kWriteRndv,
             "HatRPC 5.2, Hybrid-EagerRNDV"},
    Protocol{"ar_grpc", Leg::kSend, Leg::kSend, Leg::kReadRndv, "HatRPC 5.4, AR-gRPC"},
    Protocol{"rfp", Leg::kWriteImm, Leg::kFetch0, Leg::kWriteRndv, "HatRPC 3.1, RFP"},
    Protocol{"farm", Leg::kWriteImm, Leg::kFetch1, Leg::kWriteRndv, "HatRPC 3.1, FaRM"},
    Protocol{"pilaf", Leg::kWriteImm, Leg::kFetch2, Leg::kWriteRndv, "HatRPC 3.1, Pilaf"},
    Protocol{"herd", Leg::kWriteImm, Leg::kSend, Leg::kWriteRndv, "HatRPC 5.4, HERD"},
    Protocol{"hipower", Leg::kBitmap, Leg::kBitmap, Leg::kWriteRndv, "HiPower (NPC'19)"},
};

static_assert(
    [] {
      for (const Protocol& protocol : kProtocols) {
        for (const Leg fetch : {Leg::kFetch0, Leg::kFetch1, Leg::kFetch2}) {
          if (protocol.request == fetch || protocol.beyond == fetch) return false;
        }
      }
      return true;
    }(),
    "only replies are fetched");

// An index into kProtocols.
enum class ProtocolId : uint8_t {};

// Returns the protocol with this name, or nullopt if there is none.
constexpr std::optional<ProtocolId> find_protocol(std::string_view name) {
  for (size_t i = 0; i < kProtocols.size(); ++i) {
    if (kProtocols[i].name == name) return ProtocolId{static_cast<uint8_t>(i)};
  }
  return std::nullopt;
}
constexpr const Protocol& protocol(ProtocolId id) { return kProtocols[static_cast<size_t>(id)]; }

// For each leg, the first protocol in kProtocols whose replies use the leg.
inline constexpr std::array<ProtocolId, kLegCount> kProtocolsByLeg = [] {
  std::array<ProtocolId, kLegCount> all{};
  for (size_t i = kProtocols.size(); i-- > 0;) {
    all[static_cast<size_t>(kProtocols[i].response)] = ProtocolId{static_cast<uint8_t>(i)};
  }
  return all;
}();
static_assert(
    [] {
      for (size_t i = 0; i < kLegCount; ++i) {
        if (protocol(kProtocolsByLeg[i]).response != static_cast<Leg>(i)) return false;
      }
      return true;
    }(),
    "each leg carries the replies of a protocol");

// Returns the protocol by whose name a report calls `leg`: eager for kSend, write_rndv for
// kWriteRndv.
constexpr ProtocolId protocol_of(Leg leg) { return kProtocolsByLeg[static_cast<size_t>(leg)]; }

}  // namespace hat::engine
