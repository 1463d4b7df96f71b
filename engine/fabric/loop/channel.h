// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/channel.h: the unix socket between two connected loop queue pairs. It carries
// descriptors, and its end shows a process that its peer has died.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace hat::engine::loop {

struct ChannelMessage {
  // Each side sends kHello or kWelcome, then a kRegion for each of its regions, then kReady. A
  // kRegion follows for each region that it registers later.
  enum class Kind : uint32_t { kHello = 1, kWelcome, kRegion, kReady };
  static constexpr uint32_t kVersion = 2;

  Kind kind{};
  uint32_t version = kVersion;
  uint64_t nonce = 0;                  // kHello: the nonce in the receiver's address
  uint32_t target = 0;                 // kHello: the receiver's queue pair
  uint32_t key = 0;                    // kRegion
  std::array<std::byte, 64> sender{};  // kHello: the sender's address
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
  // Connects to the listener with this name. Fails if its process belongs to another user.
  static Result<Channel> connect(const std::string& name);

  int fd() const { return fd_.get(); }
  bool open() const { return fd_.get() >= 0; }
  bool send(const ChannelMessage& message, std::initializer_list<int> descriptors);
  enum class Got : uint8_t { kMessage, kNothing, kEnd };
  Got receive(ReceivedMessage& into);
  bool ended() const;  // the peer's process has closed it, or has died
  void close() { fd_ = Descriptor(); }

 private:
  Descriptor fd_;
};

// Accepts channels from processes of this user only. Its name is random, and is not a name in the
// file system.
class ChannelListener {
 public:
  static Result<ChannelListener> open();
  const std::string& name() const { return name_; }
  int fd() const { return fd_.get(); }
  // Returns a channel that is not open if no connection waits, and std::nullopt if one waits but
  // the process has no descriptor for it (base/accept_pause.h).
  std::optional<Channel> accept();

 private:
  Descriptor fd_;
  std::string name_;
};

}  // namespace hat::engine::loop
