// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/registrations.h: the memory of applications' rings while it is registered with the
// fabrics of links, so that RDMA lanes send from it, and READ into it, without a copy.
//
// Each link has a protection domain of its own (Fabric), so the memory of a byte stream whose bytes
// use several links has a registration for each of them. A Registrations object belongs to one link
// and holds the registrations in the link's domain. A RegisteredMemory object belongs to one byte
// stream and finds or makes the registration for a link. The two objects can be destroyed in any
// order.
//
// A registration ends when the byte stream ends, or when the link's domain ends, which is some
// seconds after the end of the link's last lane. It lasts longer while a lane still uses the
// memory; the memory then also stays mapped.
//
// The fabric registers the memory for this daemon's own RDMA device only, so peers cannot access
// the memory.
//
// Thread   the worker's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/reactor.h"
#include "daemon/proxy/unit_reader.h"
#include "engine/fabric/fabric.h"

namespace hat {

class Registrations;

// The memory of one byte stream while the memory is registered with the fabric of a link.
struct BorrowedMemory {
  ByteStream* stream;            // null: the byte stream has ended
  Registrations* registrations;  // of the link; null: the link's domain has ended
  std::shared_ptr<engine::Fabric> fabric;
  std::shared_ptr<const std::span<std::byte>> memory;
  std::unique_ptr<engine::MemoryRegion> region;
};

// The fabric of a link's lanes, and what is registered with it.
struct LinkMemory {
  const std::shared_ptr<engine::Fabric>& fabric;
  Registrations& registrations;
};

// The registrations in the domain of one link. After the fabric has refused one, no further one is
// tried for kPause.
class Registrations {
 public:
  static constexpr Duration kPause = std::chrono::seconds(5);

  // Creates an object without registrations. `reactor` must outlive it.
  explicit Registrations(const Reactor& reactor) : reactor_(reactor) {}
  ~Registrations() { domain_gone(); }
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;

  // Registers `memory` of `stream` with `fabric`, the fabric of the link's lanes. The registration
  // lasts until forget() or domain_gone(). Returns null, and logs the reason, if the fabric
  // refuses.
  std::shared_ptr<BorrowedMemory> add(ByteStream& stream,
                                      std::shared_ptr<const std::span<std::byte>> memory,
                                      const std::shared_ptr<engine::Fabric>& fabric);
  // Ends the registration, because the byte stream has ended.
  void forget(const BorrowedMemory& memory);
  // Ends all registrations, because the link has no domain any more.
  void domain_gone();

 private:
  const Reactor& reactor_;
  std::optional<TimePoint> refused_;  // when the fabric has refused the last attempt
  std::vector<std::shared_ptr<BorrowedMemory>> registered_;
};

// The registrations of one of the two memories of one byte stream. Makes a registration when it is
// needed first, and forgets all of them when the stream ends.
class RegisteredMemory {
 public:
  enum class Part : uint8_t {
    kBytes,  // the bytes of peek()
    kSpace,  // the space of reserve()
  };
  explicit RegisteredMemory(Part part) : part_(part) {}
  ~RegisteredMemory() { end(); }
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  // Returns the memory of `stream`, registered with the fabric of `link`. Returns null if it cannot
  // be registered.
  std::shared_ptr<BorrowedMemory> with(const LinkMemory& link, ByteStream& stream);
  // Forgets the byte stream and its memory, because the byte stream ends.
  void end();

 private:
  const Part part_;
  // Each belongs to another link. Expired: the link's domain has ended. The fabric is that of the
  // registration; it can be gone if the registration has expired.
  std::vector<std::pair<const engine::Fabric*, std::weak_ptr<BorrowedMemory>>> memories_;
};

}  // namespace hat
