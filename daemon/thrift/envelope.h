// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/envelope.h: changes the sequence id in the envelope of a Thrift message. In this
// folder, the envelope is all bytes before the message's struct: frame lengths, the header of
// THeader, and the head (name, type and sequence id).
//
// Clients that share one connection to a server can choose the same sequence ids. The daemon
// therefore sends each request to the server with a sequence id that is unique on the connection,
// and puts the client's id into the reply. In compact and JSON, the new id can have another length
// than the old id, and the frame lengths change too.
//
// Thread   Any thread may use these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/thrift/message_reader.h"

namespace hat::thrift {

struct MessageIds {
  int32_t seqid = 0;
  uint32_t header_seqid = 0;  // the sequence id in the header of THeader

  friend bool operator==(const MessageIds&, const MessageIds&) = default;
};

// A unit that has exactly one message.
struct WholeMessage {
  Framing framing;
  Encoding encoding;
  MessageIds ids;
  uint64_t name_hash;       // name_hash() of the name without a service prefix
  uint32_t envelope_bytes;  // number of bytes before the message's struct
};
// Reads `unit`, a frame or an unframed message. Returns nullopt if `unit` is not exactly one
// message, or if `reader` cannot follow the message to its last byte. `reader` must be new; it has
// the message's head afterwards.
std::optional<WholeMessage> read_whole(MessageReader& reader, std::span<const std::byte> unit);

// Replaces the contents of `out` by a copy of `envelope` with the sequence ids `ids`. `envelope`
// has the bytes of a unit before its first message's struct.
void write_envelope(std::span<const std::byte> envelope, Framing framing, Encoding encoding,
                    MessageIds ids, std::vector<std::byte>& out);

}  // namespace hat::thrift
