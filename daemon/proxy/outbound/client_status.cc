// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_status.cc: what a client's connection reports of itself.
#include <array>

#include "daemon/proxy/worker.h"
#include "daemon/proxy/worker_status.h"

namespace hat {
namespace {

std::string words_for(const thrift::Head& head) {
  constexpr std::array kFramings = {"unframed", "framed", "THeader", "THeader in frames"};
  constexpr std::array kEncodings = {"binary", "old binary", "compact", "JSON"};
  return std::string(kFramings[static_cast<size_t>(head.framing)]) + " " +
         kEncodings[static_cast<size_t>(head.encoding)];
}

}  // namespace

uint64_t ClientConnection::rank(ConnectionOrder order, TimePoint now) const {
  switch (order) {
    case ConnectionOrder::kCalls:
      return totals_.calls;
    case ConnectionOrder::kUnanswered:
      return calls_.size();
    case ConnectionOrder::kBuffered:
      return out_.size() + input_bytes();
    case ConnectionOrder::kBytes:
      return totals_.bytes_in + totals_.bytes_out;
    case ConnectionOrder::kAge:
      return static_cast<uint64_t>((now - totals_.began).count());
  }
  return 0;
}

ConnectionStatus ClientConnection::status(TimePoint now) const {
  ConnectionStatus status{.endpoint = to_string(endpoint_->config.listen),
                          .service = endpoint_->config.service,
                          .kind = endpoint_->config.listen.kind,
                          .has_own_server = stream_.is_bound(),
                          .age = now - totals_.began,
                          .calls = totals_.calls,
                          .unanswered = calls_.size(),
                          .bytes_in = totals_.bytes_in,
                          .bytes_out = totals_.bytes_out - out_.size(),
                          .buffered = out_.size() + input_bytes()};
  if (const std::vector<int> all = client_->descriptors(); !all.empty()) {
    status.descriptor = all.front();
  }
  const auto reason = reader_.messages().opaque_reason();
  if (mode_ == Mode::kOpaque) {
    status.protocol = reason.empty() ? "opaque" : "opaque (" + std::string(reason) + ")";
  } else if (totals_.calls != 0) {
    status.protocol = words_for(reader_.messages().head());
  }
  if (stream_.exists()) {
    status.peer = stream_.peer();
    const uint32_t lane = stream_.lane_number();
    status.carrier = lane == 0 ? "tcp" : stream_.link().lanes()->protocols_of(lane);
  }
  if (life_ != Life::kOpen) {
    status.waits = "end";
  } else if (wait_ != Wait::kNone) {
    status.waits = waits_for_link() ? "link" : "lane";
  }
  return status;
}

const Call* ClientConnection::oldest_unanswered() const {
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].replies != 0) return &calls_[i];
  }
  return nullptr;
}

WaitsFor ClientConnection::waits_for(const Call& call) const {
  if (call.reply_started) return WaitsFor::kRestOfReply;
  if (!call.sent) return WaitsFor::kToBeSent;
  return &call == current_ ? WaitsFor::kRestOfRequest : WaitsFor::kReply;
}

std::string_view ClientConnection::peer_of(const Call& call) const {
  return call.sent ? std::string_view(stream_.last_peer()) : std::string_view();
}

}  // namespace hat
