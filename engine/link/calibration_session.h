// SPDX-License-Identifier: Apache-2.0
// engine/link/calibration_session.h: runs calibration sessions. In a calibration session one of the
// two daemons of a link, the initiator, measures the costs of RDMA operations between the two
// daemons. This file has the payloads of the kCost… frames and the exchange of these frames.
// docs/link.md ("Component costs") shows the bytes. A "card" (CostCard) describes the queue pairs
// and the memory of one side.
//
//   initiator sends kCostOpen     the request to measure: its fabric's reach and its card
//   acceptor sends kCostAccept    the card of the memory to measure with
//   either side sends kCostClose  the session is over; the payload is the reason, or empty if the
//                                 session succeeded
//
// The RDMA operations take long, so other threads perform them. These threads store results in a
// CalibrationJob, which CalibrationSession checks every kPollInterval.
//
// Bounds   A link has at most one calibration session at a time. A session that lasts longer than
//          kLongest is stopped.
// Thread   Only the reactor's thread uses this class.
// Errors   An error is passed to the CalibrationJob as a sentence. The link and its calls continue.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/link/calibration_job.h"
#include "engine/link/session.h"

namespace hat::engine {

struct CostOpen {
  std::string reach;  // Fabric::reach() of the initiator: text that says whom its fabric can reach
  CostCard card;      // the initiator's card
};

// Returns the payload of a kCostOpen frame.
std::vector<std::byte> encode(const CostOpen& open);
// Returns the payload of a kCostAccept frame.
std::vector<std::byte> encode(const CostCard& card);
// Decodes the payload of a kCostOpen or kCostAccept frame. An error says how the payload is wrong.
Result<CostOpen> decode_cost_open(Bytes payload);
Result<CostCard> decode_cost_card(Bytes payload);

// Performs the work of the answering side of calibration sessions, on a separate thread.
class CostAnswerer {
 public:
  virtual ~CostAnswerer() = default;
  // Starts to answer the session that `open` requests. Returns a job in which the answering thread
  // stores its results, or an error that says why no session is possible now. Any thread may call
  // this function.
  virtual Result<std::shared_ptr<CalibrationJob>> answer(const CostOpen& open) = 0;
};

class CalibrationSession final : public CostFrames {
 public:
  static constexpr Duration kPollInterval = std::chrono::milliseconds(5);
  static constexpr Duration kLongest = std::chrono::seconds(60);

  // Creates an object that sends its frames on `control`, the TCP connection of the link. If
  // `answerer` is null, this side refuses sessions that the peer opens. All arguments must outlive
  // this object.
  CalibrationSession(Reactor& reactor, Lane& control, CostAnswerer* answerer);
  ~CalibrationSession() override { end("the link has ended"); }

  // Starts a calibration session in which this side measures. Returns an error while another
  // calibration session is running on the link.
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
  // Ends the session and sends kCostClose to the other side. The payload is the message of the
  // error in `end`, or empty if `end` is not an error.
  void close(Result<void> end);
  void send(FrameKind kind, uint32_t number, Bytes payload) {
    control_.send({.kind = kind, .stream = number}, {payload});
  }

  Reactor& reactor_;
  Lane& control_;
  CostAnswerer* const answerer_;
  // The number of the running calibration session or, if none is running, of the last session. The
  // initiator chooses the number.
  uint32_t number_ = 0;
  std::shared_ptr<CalibrationJob> job_;  // null if no session is running
  bool measures_ = false;
  bool card_sent_ = false;
  TimePoint began_{};
  std::unique_ptr<Timer> timer_;
};

}  // namespace hat::engine
