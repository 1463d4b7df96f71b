// SPDX-License-Identifier: Apache-2.0
// engine/costs/echo_lanes.h: two lanes between two hosts, on which one side makes calls, and the
// other side answers each call with the call's payload. Measures how long a host needs for a call
// if several callers share a lane, as those of a worker of hatrpcd do. The replies of one lane are
// pushed, by direct_write_imm; those of the other lane are fetched by READ, by rfp.
//
//   calling side                                    answering side
//   lanes = EchoLanes::create(fabric, kCalls)       lanes = EchoLanes::create(fabric, kAnswers)
//   … the two sides exchange their offers() …
//   lanes->connect(theirs)                          lanes->connect(theirs)
//   lanes->call(Replies::kFetched, …)               for (;;) lanes->step(…)
//
// Both sides use event polling: they sleep when nothing has arrived, as hatrpcd does with the plans
// for more callers than cores.
//
// Bounds   The lanes end if a call has more than kBytesMax bytes, if a reply has another size than
//          its call, or if RdmaLane::kCongestedBytes bytes wait because the other side takes none.
// Owner    The fabric must outlive this object, which opens a domain of its own on it.
// Thread   one thread.
// Errors   A sentence. Destroy the object after an error. On the fabric `verbs`, errors of a device
//          that no request notices are found only when CallOptions::patience ends.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "engine/fabric/fabric.h"
#include "engine/protocols.h"
#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

class EchoLanes {
 public:
  enum class Side : uint8_t { kCalls, kAnswers };
  enum class Replies : uint8_t { kPushed, kFetched };
  static constexpr std::array kProtocolOf = {*find_protocol("direct_write_imm"),
                                             *find_protocol("rfp")};  // the index is a Replies
  static constexpr uint32_t kCallsInFlight = 8;
  static constexpr uint32_t kBytesMax = 64 * 1024;  // of a call
  using Offers = std::array<LaneOffer, kProtocolOf.size()>;

  struct CallOptions {
    uint32_t bytes = 0;                   // of a request, and of its reply; 1 to kBytesMax
    std::chrono::nanoseconds time{};      // to measure, after a quarter of it to warm up
    std::chrono::nanoseconds patience{};  // it is an error if the measurement takes longer
    std::stop_token stop{};
  };

  static Result<std::unique_ptr<EchoLanes>> create(Fabric& fabric, Side side);
  Offers offers() const;
  Result<void> connect(const Offers& others);

  // Makes calls on one lane, with kCallsInFlight calls in flight. Returns the mean time between two
  // replies, in nanoseconds.
  Result<double> call(Replies replies, const CallOptions& options);
  // Handles what has arrived: answers calls, or takes replies. If nothing has arrived, sleeps until
  // something arrives, for at most `at_most`.
  Result<void> step(std::chrono::milliseconds at_most);
  // Returns the number of frames that have arrived by this leg.
  uint64_t arrived_by(Leg leg) const { return arrived_by_[static_cast<size_t>(leg)]; }

 private:
  using Clock = std::chrono::steady_clock;

  struct End final : LaneEvents {
    explicit End(EchoLanes& its_lanes) : lanes(its_lanes) {}
    void on_frame(const FrameHeader& header, Bytes payload) override;
    void on_down(const std::string& reason) override { lanes.why_down_ = reason; }
    void answer(const FrameHeader& header, Bytes payload);
    EchoLanes& lanes;
    std::unique_ptr<RdmaLane> lane;
    uint32_t calls = 0;  // in flight
  };
  // The replies of a measurement.
  struct Count {
    uint64_t replies = 0;
    Clock::time_point first;
    Clock::time_point last;
  };

  EchoLanes(std::unique_ptr<Fabric> fabric, Side side) : fabric_(std::move(fabric)), side_(side) {}
  Result<void> open();
  void send_call(End& end);
  void take_events();
  void flush();
  Result<void> run_until(Clock::time_point end, uint64_t replies, const CallOptions& options,
                         Clock::time_point latest);

  const std::unique_ptr<Fabric> fabric_;
  const Side side_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Poller> poller_;
  std::array<std::unique_ptr<End>, kProtocolOf.size()> ends_;  // the index is a Replies
  std::vector<std::byte> payload_;                             // of a call
  std::string why_down_;                                       // of a lane; empty: both are up
  uint64_t steps_ = 0;
  bool calling_ = false;  // a call follows each reply
  Count count_;
  std::array<uint64_t, kLegCount> arrived_by_{};
};

}  // namespace hat::engine
