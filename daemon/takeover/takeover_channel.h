// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/takeover_channel.h: what two hatrpcds of one node say to each other when the
// newer one takes over (docs/upgrade.md): whole messages with descriptors, over a unix
// SOCK_SEQPACKET socket.
//
//   new                                    old
//   kHello {node}                 ──▶
//                                 ◀──      kListeners {addresses, sockets} … kLastListeners
//   kReady {addresses taken}      ──▶
//                                 ◀──      kGo {paths owned} the old one accepts no more
//   kServing                      ──▶                        the new one accepts
//                                 ◀──      kConnection {endpoint, sockets, bytes} …
//                                 ◀──      kServerConnection {token …, sockets} …
//
// The old one may say kRefuse {why} at any time before it gives connections, and goes on without
// the new one. The end of the socket means that the other side listens no more: it died, or has
// nothing more to give.
//
// Format   a header of 16 bytes: "hatT", version, kind, length of the text, length of the bytes;
//          then both. Native numbers: both processes are on one host. The header and kRefuse are
//          the same in every version, so that a refusal is always understood.
// Trust    the other side is the same user or root (same_user()); all the same nothing that it
//          sends makes this one crash, grow without bound, or leave a descriptor open.
// Thread   send(): any, several at once; receive(): one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace hat {

enum class TakeoverKind : uint16_t {
  kHello = 1,
  kRefuse,
  kListeners,      // more of them follow
  kLastListeners,  // text: an address a line, each with its descriptor
  kReady,          // text: an address a line: where the new one listens
  kGo,             // text: an address a line: the unix sockets that are now the new one's to remove
  kServing,
  kConnection,  // text: the endpoint's address, and where a peer keeps a connection to the server
                // for it, the peer and the token in hexadecimal, a line each; bytes: read of it,
                // and not used
  kServerConnection,  // bytes: a DetachedConnection
};

struct TakeoverMessage {
  TakeoverKind kind{};
  std::string text;
  std::vector<std::byte> bytes;
  std::vector<Descriptor> descriptors;
};

class TakeoverChannel {
 public:
  static constexpr uint16_t kVersion = 2;
  static constexpr size_t kMessageBytesMax = 192 * 1024;  // less than a socket's default buffer
  static constexpr size_t kDescriptorsMax = 128;          // Linux takes 253

  enum class Sent : uint8_t {
    kSent,
    kNoRoom,    // now
    kTooLarge,  // ever
    kGone,
  };

  static constexpr const char* kEnded = "it has ended";

  explicit TakeoverChannel(Descriptor socket);

  int fd() const { return socket_.get(); }
  // Whether the other side is this process's user, or root. Its process; 0: in another namespace.
  bool same_user() const;
  int pid() const;

  Sent send(TakeoverKind kind, std::string_view text,
            std::initializer_list<std::span<const std::byte>> bytes = {},
            std::span<const int> descriptors = {});
  // Nothing: none has come; with a time-out on the socket and `wait`, none within it. Errors: the
  // other side has ended (kEnded), or sent what is no message of this version; it is not heard any
  // more.
  Result<std::optional<TakeoverMessage>> receive(bool wait = false);

 private:
  const Descriptor socket_;
  std::vector<std::byte> buffer_;  // made with the first receive()
};

// The addresses of a message's text.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace hat
