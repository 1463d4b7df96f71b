// SPDX-License-Identifier: Apache-2.0
#include "engine/link/calibration_session.h"

#include <cstring>
#include <utility>

#include "engine/link/said_by_peer.h"

namespace hat::engine {
namespace {

constexpr size_t kCostReachMax = 255;
static_assert(sizeof(CostCard) == kQueuePairAddressBytes + 24, "it travels as it lies");

std::unexpected<Error> refuse_costs(const char* what) {
  return fail(ErrorCode::kProtocol,
              std::string("the peer sent an invalid calibration message: ") + what);
}

}  // namespace

// --- Payloads: a CostCard; or a CostOpen, which is a CostCard and the text CostOpen::reach ---

std::vector<std::byte> encode(const CostCard& card) {
  const auto raw = std::as_bytes(std::span(&card, 1));
  return {raw.begin(), raw.end()};
}

std::vector<std::byte> encode(const CostOpen& open) {
  std::vector<std::byte> bytes = encode(open.card);
  const auto reach = std::as_bytes(std::span(open.reach));
  bytes.insert(bytes.end(), reach.begin(), reach.end());
  return bytes;
}

Result<CostCard> decode_cost_card(Bytes payload) {
  if (payload.size() != sizeof(CostCard)) return refuse_costs("it has the wrong length");
  CostCard card;
  std::memcpy(&card, payload.data(), sizeof card);
  return card;
}

Result<CostOpen> decode_cost_open(Bytes payload) {
  if (payload.size() < sizeof(CostCard)) return refuse_costs("it is too short");
  const Bytes reach = payload.subspan(sizeof(CostCard));
  if (reach.size() > kCostReachMax) return refuse_costs("it has the wrong length");
  HAT_TRY(const CostCard card, decode_cost_card(payload.first(sizeof(CostCard))));
  return CostOpen{{reinterpret_cast<const char*>(reach.data()), reach.size()}, card};
}

// --- The calibration session ---

CalibrationSession::CalibrationSession(Reactor& reactor, Lane& control, CostAnswerer* answerer)
    : reactor_(reactor),
      control_(control),
      answerer_(answerer),
      timer_(reactor.timer([this] { poll(); })) {}

Result<void> CalibrationSession::open(const CostOpen& open, std::shared_ptr<CalibrationJob> job) {
  if (job_)
    return fail(ErrorCode::kBusy,
                "another calibration with this peer is in progress; try again in a few seconds");
  begin(number_ + 1, std::move(job), true);
  send(FrameKind::kCostOpen, number_, encode(open));
  return {};
}

void CalibrationSession::begin(uint32_t number, std::shared_ptr<CalibrationJob> job,
                               bool measures) {
  number_ = number;
  job_ = std::move(job);
  measures_ = measures;
  card_sent_ = false;
  began_ = reactor_.now();
  timer_->set(began_ + kPollInterval);
}

void CalibrationSession::stop(Result<void> end) {
  timer_->cancel();
  if (const auto job = std::exchange(job_, nullptr)) job->stop(std::move(end));
}

void CalibrationSession::close(Result<void> end) {
  const std::string_view reason = end ? std::string_view() : end.error().message;
  send(FrameKind::kCostClose, number_, std::as_bytes(std::span(reason)));
  stop(std::move(end));
}

void CalibrationSession::poll() {
  if (!measures_ && !card_sent_) {
    if (const auto card = job_->card()) {
      card_sent_ = true;
      send(FrameKind::kCostAccept, number_, encode(*card));
    }
  }
  if (auto end = job_->finished()) return close(std::move(*end));
  const TimePoint now = reactor_.now();
  if (now - began_ >= kLongest) {
    return close(fail(ErrorCode::kUnavailable, "the calibration has taken too long"));
  }
  timer_->set(now + kPollInterval);
}

void CalibrationSession::on_cost_frame(const FrameHeader& header, Bytes payload) {
  if (header.kind == FrameKind::kCostOpen) return take_open(header.stream, payload);
  if (!job_ || header.stream != number_) return;  // the frame's calibration session is over
  if (header.kind == FrameKind::kCostAccept) return take_accept(payload);
  if (payload.empty()) return stop({});
  stop(fail(ErrorCode::kUnavailable, "the peer: " + said_by_peer(payload)));
}

void CalibrationSession::take_open(uint32_t number, Bytes payload) {
  const auto refuse = [&](const std::string& reason) {
    send(FrameKind::kCostClose, number, std::as_bytes(std::span(reason)));
  };
  if (answerer_ == nullptr)
    return refuse("only the node that opened the link may calibrate over it");
  if (job_) return refuse("another calibration over this link is in progress");
  const auto open = decode_cost_open(payload);
  if (!open) return refuse(open.error().message);
  auto job = answerer_->answer(*open);
  if (!job) return refuse(job.error().message);
  begin(number, std::move(*job), false);
}

void CalibrationSession::take_accept(Bytes payload) {
  if (!measures_) {
    return close(fail(ErrorCode::kProtocol, "the peer sent a calibration message out of order"));
  }
  const auto card = decode_cost_card(payload);
  if (!card) return close(std::unexpected(card.error()));
  job_->offer(*card);
}

}  // namespace hat::engine
