// SPDX-License-Identifier: Apache-2.0
// engine/link/calibration_session.h: calibration sessions, in which one side of a link measures
// what its fabric costs between the two: the payloads of the kCost… frames, and the exchange of
// these frames. docs/wire.md section 3.4 shows the bytes.
//
//   initiator: kCostOpen ──▶      wants to measure: its fabric's reach, its card
//              ◀── kCostAccept    the card of the memory to measure with
//   both:      kCostClose         the session is over: the reason, empty if it ended as it should
//
// Other threads do the work on the fabric, which takes long. CalibrationSession checks every
// kPollInterval what they have left for it in the CalibrationJob.
//
// Bounds   one calibration session at a time on a link; one that lasts longer than kLongest is
//          stopped.
// Thread   the reactor's.
// Errors   are passed to the job as sentences; the link and its calls are not affected.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/link/calibration_job.h"
#include "engine/link/session.h"

namespace hat::engine {

struct CostOpen {
  std::string reach;  // Fabric::reach()
  CostCard card;
};

std::vector<std::byte> encode(const CostOpen& open);
std::vector<std::byte> encode(const CostCard& card);
// Decodes a payload; an error says what is wrong with it.
Result<CostOpen> decode_cost_open(Bytes payload);
Result<CostCard> decode_cost_card(Bytes payload);

// Answers calibration sessions for a node, on a thread of its own.
class CostAnswerer {
 public:
  virtual ~CostAnswerer() = default;
  // Starts to answer, and leaves the results in the job that it returns. If it cannot answer now,
  // the error says why. Any thread may call it.
  virtual Result<std::shared_ptr<CalibrationJob>> answer(const CostOpen& open) = 0;
};

class CalibrationSession final : public CostFrames {
 public:
  static constexpr Duration kPollInterval = std::chrono::milliseconds(5);
  static constexpr Duration kLongest = std::chrono::seconds(60);

  // Uses `control`, the TCP lane of the link's session. If `answerer` is null, this side only
  // measures. All arguments must outlive this object.
  CalibrationSession(Reactor& reactor, Lane& control, CostAnswerer* answerer);
  ~CalibrationSession() override { end("the link has ended"); }

  // Starts a calibration session in which this side measures. Fails while another one is running.
  Result<void> open(const CostOpen& open, std::shared_ptr<CalibrationJob> job);
  // Ends the running calibration session, if any, because the link is down.
  void end(const std::string& reason) { stop(fail(ErrorCode::kClosed, reason)); }

  void on_cost_frame(const FrameHeader& header, Bytes payload) override;

 private:
  void take_open(uint32_t number, Bytes payload);
  void take_accept(Bytes payload);
  void begin(uint32_t number, std::shared_ptr<CalibrationJob> job, bool measures);
  void poll();
  void stop(Result<void> end);
  // Ends the session, and sends the end to the other side: the error's message, or nothing.
  void close(Result<void> end);
  void send(FrameKind kind, uint32_t number, Bytes payload) {
    control_.send({.kind = kind, .stream = number}, {payload});
  }

  Reactor& reactor_;
  Lane& control_;
  CostAnswerer* const answerer_;
  uint32_t number_ = 0;  // of the running session or the last one; the initiator counts
  std::shared_ptr<CalibrationJob> job_;  // null if no session is running
  bool measures_ = false;
  bool told_card_ = false;
  TimePoint began_{};
  std::unique_ptr<Timer> timer_;
};

}  // namespace hat::engine
