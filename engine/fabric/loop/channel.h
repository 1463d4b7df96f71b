// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/channel.h: the unix socket over which two connected queue pairs of the loop
// fabric exchange control messages and file descriptors. When a process dies, its sockets are
// closed, which shows the other process that its peer has died.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "engine/fabric/loop/socket_folder.h"

namespace hat::engine::loop {

struct ChannelMessage {
  // The side that connects first sends kHello, and the other side first sends kWelcome. Each side
  // then sends a kRegion for each of its regions, then kReady, and later a kRegion for each new
  // region.
  enum class Kind : uint32_t { kHello = 1, kWelcome, kRegion, kReady };
  static constexpr uint32_t kVersion = 2;

  Kind kind{};
  uint32_t version = kVersion;
  uint64_t nonce = 0;                  // kHello: the nonce in the receiver's QueuePairAddress
  uint32_t target = 0;                 // kHello: the number of the receiver's queue pair
  uint32_t key = 0;                    // kRegion: the region's key
  std::array<std::byte, 64> sender{};  // kHello: the sender's QueuePairAddress
};

struct ReceivedMessage {
  ChannelMessage message;
  std::vector<Descriptor> descriptors;
};

class Channel {
 public:
  static constexpr size_t kDescriptorsMax = 4;

  Channel() = default;
  explicit Channel(Descriptor fd) : fd_(std::move(fd)) {}
  // Connects to the ChannelListener with this name and folder. Returns an error if the listener's
  // process belongs to another user.
  static Result<Channel> connect(const std::string& name, const std::string& folder = {});

  int fd() const { return fd_.get(); }
  bool open() const { return fd_.get() >= 0; }
  bool send(const ChannelMessage& message, std::initializer_list<int> descriptors);
  enum class Got : uint8_t { kMessage, kNothing, kEnd };
  Got receive(ReceivedMessage& into);
  bool ended() const;  // returns true if the peer's process has closed the channel or has died
  void close() { fd_ = Descriptor(); }

 private:
  Descriptor fd_;
};

// Accepts channels, but only from processes of this user. The listener has a random name, in a
// folder or, if `folder` is empty, in the namespace of abstract unix sockets (socket_folder.h).
class ChannelListener {
 public:
  static Result<ChannelListener> open(const std::string& folder = {});
  const std::string& name() const { return name_; }
  int fd() const { return fd_.get(); }
  // Returns the channel of the next connection that waits. Returns a channel that is not open if no
  // connection waits, and nullopt if the process has no file descriptor left for the connection
  // (base/accept_pause.h).
  std::optional<Channel> accept();

 private:
  Descriptor fd_;
  std::string name_;
  SocketFile file_;
};

}  // namespace hat::engine::loop
