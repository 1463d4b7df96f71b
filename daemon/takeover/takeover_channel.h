// SPDX-License-Identifier: Apache-2.0
// daemon/takeover/takeover_channel.h: carries the messages between the old and the new hatrpcd
// process of one node while the new process replaces the old one (docs/upgrade.md). The channel is
// a unix SOCK_SEQPACKET socket, which transfers whole messages together with file descriptors.
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
// The old daemon may send kRefuse {why} at any time before it hands over connections. The old
// daemon then continues to serve, and the new daemon must end. If a side closes the socket, that
// side has died; or it is the old daemon, and has nothing more to hand over.
//
// Format   A header of 16 bytes ("hatT", version, kind, length of the text, length of the bytes),
//          then the text and the bytes. Numbers are in native byte order, because both processes
//          are on one host. The header and kRefuse are the same in every version, so that a refusal
//          is always understood.
// Trust    Each side checks that the other side's user is its own or root (same_user()). No message
//          of the other side can make this side crash, use unbounded memory or leave a descriptor
//          open.
// Thread   Any number of threads may call send() at once. Only one thread may call receive().
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
  kListeners,      // like kLastListeners; more messages with listening sockets follow
  kLastListeners,  // text: one address per line, with one descriptor for each
  kReady,          // text: the addresses at which the new daemon listens, one per line
  kGo,  // text: the addresses of the unix sockets whose paths the new daemon must remove, instead
        // of the old daemon, one per line
  kServing,
  kConnection,  // a client's connection; text, one item per line: the endpoint's address, and, if a
                // peer keeps a server connection for the client, that peer's name and the
                // connection's token in hexadecimal; bytes: those read from the client but not used
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
  // Version 3 has the same messages as version 2, but hands over rings of format 3
  // (docs/shm.md), which a daemon of version 2 would read at the wrong offset.
  static constexpr uint16_t kVersion = 3;
  static constexpr size_t kMessageBytesMax = 192 * 1024;  // fits into a socket's default buffer
  static constexpr size_t kDescriptorsMax = 128;          // per message; Linux allows 253

  enum class Sent : uint8_t {
    kSent,
    kNoRoom,    // the socket is full; a later send may succeed
    kTooLarge,  // the channel never accepts this message
    kGone,      // the other side has ended
  };

  // The message of an error whose code is kClosed.
  static constexpr const char* kEnded = "it has ended";

  explicit TakeoverChannel(Descriptor socket);

  int fd() const { return socket_.get(); }
  // Returns true if the other side's user is this process's user, or root.
  bool same_user() const;
  // Returns the other side's process id, or 0 if the other side is in another pid namespace.
  int pid() const;

  // Sends one message without waiting. The other side receives duplicates of `descriptors`.
  Sent send(TakeoverKind kind, std::string_view text,
            std::initializer_list<std::span<const std::byte>> bytes = {},
            std::span<const int> descriptors = {});
  // Returns the next message. Returns nullopt if none has arrived; with `wait`, first waits for a
  // message, at most for the socket's receive timeout. Returns an error with the code kClosed if
  // the other side has ended, and with another code if it has sent bytes that are not a message of
  // this version. After an error, the caller must not call receive() again.
  Result<std::optional<TakeoverMessage>> receive(bool wait = false);

 private:
  const Descriptor socket_;
  std::vector<std::byte> buffer_;  // allocated by the first receive()
};

// Returns the lines of a message's text, without empty ones.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace hat
