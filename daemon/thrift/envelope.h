// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/envelope.h: changes the sequence id in the envelope of a Thrift message. The
// envelope is all that comes before the message's struct: frame lengths, the header of THeader, and
// the head (name, type and sequence id).
//
// Several clients that share one connection to a server may choose the same sequence ids. The
// daemon therefore sends each request to the server with a sequence id that is unique on this
// connection, and puts the caller's own id into the reply. In the encodings compact and JSON, a new
// id may take more or fewer bytes than the old id, so the frame lengths change too.
//
// These functions start no thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/thrift/message_reader.h"

namespace hat::thrift {

struct MessageIds {
  int32_t seqid = 0;
  uint32_t header_seqid = 0;  // the sequence id in THeader's own header

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
