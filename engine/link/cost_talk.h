// SPDX-License-Identifier: Apache-2.0
// engine/link/cost_talk.h: what the two sides of a link say so that one can measure what its fabric
// costs between them: the payloads of the kCost… frames, and one session's talk. docs/wire.md
// section 3.4 shows the bytes.
//
//   initiator: kCostOpen ──▶      it measures: its fabric's reach, its card
//              ◀── kCostAccept    the card of the memory to measure with
//   both:      kCostClose         it is over; why, or nothing where it ended as it should
//
// Fabrics and time belong to other threads (CostJob); a talk looks every few milliseconds what they
// have left for it.
//
// Bounds   one talk at a time in a session; one that is longer than kLongest is stopped.
// Thread   the reactor's.
// Errors   to the job, in words; never on the link: calls do not notice.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/link/cost_job.h"
#include "engine/link/session.h"

namespace hat::engine {

struct CostOpen {
  std::string reach;  // Fabric::reach()
  CostCard card;
};

std::vector<std::byte> encode(const CostOpen& open);
std::vector<std::byte> encode(const CostCard& card);
// Errors say what is wrong with it.
Result<CostOpen> decode_cost_open(Bytes payload);
Result<CostCard> decode_cost_card(Bytes payload);

// Who answers for a node, on a thread of its own.
class CostAnswerer {
 public:
  virtual ~CostAnswerer() = default;
  // Begins; what comes of it is left in the job. Errors: it cannot now, and why. Any thread.
  virtual Result<std::shared_ptr<CostJob>> answer(const CostOpen& open) = 0;
};

class CostTalk final : public CostFrames {
 public:
  static constexpr Duration kLook = std::chrono::milliseconds(5);
  static constexpr Duration kLongest = std::chrono::seconds(60);

  // All outlive it. `control` is the session's TCP lane; no answerer: this side only measures.
  CostTalk(Reactor& reactor, Lane& control, CostAnswerer* answerer);
  ~CostTalk() override { end("the link has ended"); }

  // This side measures. Errors: a talk goes on.
  Result<void> open(const CostOpen& open, std::shared_ptr<CostJob> job);
  // The link is down.
  void end(const std::string& reason);

  void on_cost_frame(const FrameHeader& header, Bytes payload) override;

 private:
  void take_open(uint32_t number, Bytes payload);
  void take_accept(Bytes payload);
  void begin(uint32_t number, std::shared_ptr<CostJob> job, bool measures);
  void look();
  void close(const std::string& reason);  // and tell the other side
  void send(FrameKind kind, uint32_t number, Bytes payload) {
    control_.send({.kind = kind, .stream = number}, {payload});
  }

  Reactor& reactor_;
  Lane& control_;
  CostAnswerer* const answerer_;
  uint32_t number_ = 0;           // of the talk that goes on, or the last; the initiator counts
  std::shared_ptr<CostJob> job_;  // null: none goes on
  bool measures_ = false;
  bool told_card_ = false;
  TimePoint began_{};
  std::unique_ptr<Timer> timer_;
};

}  // namespace hat::engine
