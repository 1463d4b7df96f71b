// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/envelope.h: what lies around a message's struct (frame lengths, THeader's own part,
// the head), written anew with another sequence id.
//
// Clients that share a connection to a server choose the same ids. So each request goes to the
// server with an id that is unique on the connection, and its reply goes back with the caller's id.
// In compact and JSON a new id may take more or fewer bytes, so the frame lengths change too.
//
// Thread   none of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/thrift/message_reader.h"

namespace hat::thrift {

struct MessageIds {
  int32_t seqid = 0;
  uint32_t header_seqid = 0;  // THeader's own

  friend bool operator==(const MessageIds&, const MessageIds&) = default;
};

// A unit that is one whole message, as a client sends it.
struct WholeMessage {
  Framing framing;
  Encoding encoding;
  MessageIds ids;
  uint64_t name_hash;       // of the bare name
  uint32_t envelope_bytes;  // of the unit, up to the message's struct
};
// Nothing: `unit` is more than one message or less, or is not understood to its last byte. `reader`
// is a new one, and keeps the message's head.
std::optional<WholeMessage> read_whole(MessageReader& reader, std::span<const std::byte> unit);

// Writes `envelope`, a unit's bytes up to its first message's struct, to `out` with these ids.
void write_envelope(std::span<const std::byte> envelope, Framing framing, Encoding encoding,
                    MessageIds ids, std::vector<std::byte>& out);

}  // namespace hat::thrift
