// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/landings.h: space in applications' rings, into which RDMA lanes READ the bytes
// inside large messages, so that the daemon need not copy them.
//
// A BulkReceiver belongs to one byte stream and reserves space in its ring. A Landings object
// belongs to one link and lists the spaces into which the link's lanes READ. The two objects can be
// destroyed in any order, because the memory stays mapped and registered while a lane can write to
// it.
//
// The memory is registered for this daemon's own READs only, so peers cannot access it
// (registrations.h). The application can see and change the bytes before the daemon announces them
// in the ring; the daemon does not look at them.
//
// Bounds   by the ring: a space that does not fit into the ring is not reserved.
// Thread   the worker's.
#pragma once

#include <memory>
#include <vector>

#include "daemon/metrics/counters.h"
#include "daemon/proxy/registrations.h"
#include "engine/lane.h"

namespace hat {

class Landings {
 public:
  // Adds the bytes of each payload that its space has taken to `bytes_landed`.
  explicit Landings(Counter& bytes_landed) : bytes_landed_(bytes_landed) {}

  // Records that a lane READs into `space`, which is reserved in `memory`.
  void add(uint32_t lane, std::span<const std::byte> space,
           std::shared_ptr<BorrowedMemory> memory) {
    landings_.push_back({lane, space.data(), space.size(), std::move(memory)});
  }
  // Ends the use of the space at `payload`, because the frame with this payload was handled. Does
  // nothing if no landing is there. Call this as soon as the payload was written: after a rewind,
  // the same space can be reserved again. If the frame was dropped, gives the space back to the
  // ring.
  void handled(const std::byte* payload);
  // Gives back all spaces of this lane, because the lane is gone.
  void lane_gone(uint32_t lane);

 private:
  struct Used {
    uint32_t lane;
    const std::byte* data;
    size_t bytes;
    std::shared_ptr<BorrowedMemory> memory;
  };
  // Gives the space back to its ring. Returns false if the bytes in it were written to the ring.
  static bool give_back(const Used& landing);

  Counter& bytes_landed_;
  std::vector<Used> landings_;  // few: a lane has at most kRendezvousMax messages in buffers
};

// The RDMA lane that asks for a landing: its number, and the memory and landings of its link.
struct LandingAsker {
  uint32_t lane;
  LinkMemory memory;
  Landings& landings;
  bool is_next;  // LaneEvents::landing_for()
};

// Reserves space in one byte stream for the payloads that a lane READs.
class BulkReceiver {
 public:
  // Returns space in `stream` for a payload of `bytes` bytes, or no space. The caller passes the
  // payload to ByteStream::write() when it has arrived, and nothing else before it. If
  // `asker.is_next` is false, returns `later` instead of space.
  engine::Landing landing(ByteStream& stream, const LandingAsker& asker, size_t bytes);
  // Forgets the byte stream and its memory, because the byte stream ends.
  void end() { memory_.end(); }

 private:
  RegisteredMemory memory_{RegisteredMemory::Part::kSpace};
};

}  // namespace hat
