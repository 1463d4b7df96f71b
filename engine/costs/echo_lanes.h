// SPDX-License-Identifier: Apache-2.0
// engine/costs/echo_lanes.h: several lanes between two hosts, on which one side makes calls, and
// the other side answers each call with the call's payload. Measures how long a host needs for a
// call if many callers call at once. Half of the lanes push the replies, by direct_write_imm; on
// the others the calling side fetches them by READ, as in rfp.
//
//   calling side                                    answering side
//   auto lanes = EchoLanes::create(fabric, kCalls)  auto lanes = EchoLanes::create(fabric, kAnswers)
//   … the two sides exchange their offers() …
//   lanes->connect(theirs)                          lanes->connect(theirs)
//   lanes->call(Replies::kFetched, …)               for (;;) lanes->step(…)
//
// Both sides use event polling: they sleep when nothing has arrived, as a worker of hatrpcd does
// with the plans for more callers than cores.
//
// Bounds   A lane whose other side has more than RdmaLane::kCongestedBytes of answers to take ends.
// Owner    The fabric must outlive this object, which opens a domain of its own on it.
// Thread   one thread.
// Errors   A sentence. After the first error, all later operations fail.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/fabric/fabric.h"
#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

class EchoLanes {
 public:
  enum class Side : uint8_t { kCalls, kAnswers };
  enum class Replies : uint8_t { kPushed, kFetched };
  static constexpr size_t kLanesEach = 8;           // for each kind of replies
  static constexpr uint32_t kBytesMax = 64 * 1024;  // of a call
  using Offers = std::array<LaneOffer, 2 * kLanesEach>;

  struct CallOptions {
    uint32_t bytes = 0;                   // of a request, and of its reply; 1 to kBytesMax
    std::chrono::nanoseconds time{};      // to measure, after a quarter of it to warm up
    std::chrono::nanoseconds patience{};  // an error if the measurement takes longer
    std::stop_token stop{};
  };

  static Result<std::unique_ptr<EchoLanes>> create(Fabric& fabric, Side side);
  Offers offers() const;
  Result<void> connect(const Offers& others);

  // Makes calls on the lanes of one kind, each of which has one call in flight. Returns the mean
  // time between the ends of two calls, of all lanes together, in nanoseconds.
  Result<double> call(Replies replies, const CallOptions& options);
  // Answers the calls that have arrived. If none has, sleeps until one arrives, for at most
  // `at_most`.
  Result<void> step(std::chrono::milliseconds at_most);

 private:
  using Clock = std::chrono::steady_clock;

  struct End final : LaneEvents {
    explicit End(EchoLanes& its_lanes) : lanes(its_lanes) {}
    void on_frame(const FrameHeader& header, Bytes payload) override;
    void on_down(const std::string& reason) override { lanes.why_down_ = reason; }
    EchoLanes& lanes;
    std::unique_ptr<RdmaLane> lane;
    bool waits = false;  // for the reply to its call
  };

  EchoLanes(std::unique_ptr<Fabric> fabric, Side side) : fabric_(std::move(fabric)), side_(side) {}
  Result<void> open();
  void send_call(End& end);
  void take_events();
  void flush();
  Result<void> run_until(Clock::time_point end, uint64_t calls, const CallOptions& options,
                         Clock::time_point latest);

  const std::unique_ptr<Fabric> fabric_;
  const Side side_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Poller> poller_;
  std::vector<std::unique_ptr<End>> ends_;  // first all with pushed replies
  std::vector<std::byte> payload_;          // of a call
  std::string why_down_;                    // of a lane; empty: all are up
  uint64_t steps_ = 0;
  bool calling_ = false;    // a call follows each reply
  uint64_t replies_ = 0;    // that have arrived
  uint64_t in_flight_ = 0;  // calls
};

}  // namespace hat::engine
