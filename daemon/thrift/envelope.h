// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/envelope.h: changes the sequence id in the envelope of a Thrift message. The
// envelope is all that comes before the message's struct: frame lengths, the header of THeader, and
// the head (name, type and sequence id).
//
// Clients that share a connection to a server may choose the same sequence ids. Therefore the
// daemon sends each request to the server with an id that is unique on the connection, and gives
// the reply the caller's id again. In compact and JSON the new id may take more or fewer bytes, so
// the frame lengths change too.
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

// A unit that is one whole message, as a client sends it.
struct WholeMessage {
  Framing framing;
  Encoding encoding;
  MessageIds ids;
  uint64_t name_hash;       // thrift::name_hash() of the bare name
  uint32_t envelope_bytes;  // size of the unit's bytes before the message's struct
};
// Reads `unit`, a frame or an unframed message. Returns nullopt if `unit` is not exactly one
// message, or if `reader` cannot follow the message to its last byte. `reader` must be new;
// afterwards `reader` has the head of the message.
std::optional<WholeMessage> read_whole(MessageReader& reader, std::span<const std::byte> unit);

// Replaces the contents of `out` with a copy of `envelope` in which the sequence ids are `ids`.
// `envelope` has the bytes of a unit before the struct of its first message.
void write_envelope(std::span<const std::byte> envelope, Framing framing, Encoding encoding,
                    MessageIds ids, std::vector<std::byte>& out);

}  // namespace hat::thrift
