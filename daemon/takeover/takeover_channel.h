// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/takeover_channel.h: the messages between two hatrpcds of one node when the new
// daemon takes over from the old one (docs/upgrade.md): whole messages with descriptors, over a
// unix SOCK_SEQPACKET socket.
//
//   new daemon                             old daemon
//   kHello {node}                 ──▶
//                                 ◀──      kListeners {addresses, sockets} … kLastListeners
//   kReady {addresses taken}      ──▶
//                                 ◀──      kGo {paths owned}   the old daemon has stopped accepting
//   kServing                      ──▶                          the new daemon accepts
//                                 ◀──      kConnection {endpoint, sockets, bytes} …
//                                 ◀──      kServerConnection {token …, sockets} …
//
// The old daemon may send kRefuse {why} at any time before it hands over connections; it then
// continues without the new one. The end of the socket means that the other side receives nothing
// more: it has died, or the old daemon has nothing more to hand over.
//
// Format   a header of 16 bytes: "hatT", version, kind, length of the text, length of the bytes;
//          then text and bytes. Numbers are in native byte order, since both processes are on one
//          host. The header and kRefuse are the same in every version, so that both sides always
//          understand a refusal.
// Trust    the other side is the same user or root (same_user()). All the same, nothing that it
//          sends makes this side crash, grow without bound, or leave a descriptor open.
// Thread   send(): any, also several at once; receive(): one thread.
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
  kListeners,      // like kLastListeners, but more messages with listening sockets follow
  kLastListeners,  // text: one address per line, with one descriptor for each
  kReady,          // text: the addresses at which the new daemon listens, one per line
  kGo,             // text: the addresses of the unix sockets whose paths the new daemon, and no
                   // longer the old one, must remove, one per line
  kServing,
  kConnection,  // text: the endpoint's address; if a peer keeps a connection to the server for this
                // client, also the peer's name and the token in hexadecimal; one per line.
                // bytes: read from the connection, but not used
  kServerConnection,  // bytes: an encoded DetachedConnection
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
  static constexpr size_t kDescriptorsMax = 128;          // Linux accepts 253 in a message

  enum class Sent : uint8_t {
    kSent,
    kNoRoom,    // the socket is full; a later send may succeed
    kTooLarge,  // the channel never accepts this message
    kGone,      // the other side has ended
  };

  // The message of an error with the code kClosed.
  static constexpr const char* kEnded = "it has ended";

  explicit TakeoverChannel(Descriptor socket);

  int fd() const { return socket_.get(); }
  // Returns true if the other side's user is this process's user, or root.
  bool same_user() const;
  // Returns the other side's process id, or 0 if the other side is in another pid namespace.
  int pid() const;

  Sent send(TakeoverKind kind, std::string_view text,
            std::initializer_list<std::span<const std::byte>> bytes = {},
            std::span<const int> descriptors = {});
  // Returns the next message, or nullopt if none has arrived. With `wait`, waits for a message as
  // long as the socket's receive time-out, if it has one. Returns an error with the code kClosed if
  // the other side has ended, and with another code if the other side has sent bytes that are not a
  // message of this version. After an error the caller must not receive any more.
  Result<std::optional<TakeoverMessage>> receive(bool wait = false);

 private:
  const Descriptor socket_;
  std::vector<std::byte> buffer_;  // allocated by the first receive()
};

// Returns the lines of a message's text, without empty ones.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace hat
