// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/peer_lanes.h"

#include <glog/logging.h>

#include <algorithm>

namespace hat {

using engine::LaneSet;

namespace {

std::string protocol_words(const LaneKey& key) {
  const std::string request(engine::protocol(key.request).name);
  const std::string response(engine::protocol(key.response).name);
  return request == response ? request : request + " / " + response;
}

}  // namespace

PeerLanes::PeerLanes(Reactor& reactor, engine::RdmaHost& host, engine::Session& session,
                     Duration settle, PeerLanesEvents& events)
    : reactor_(reactor),
      legs_(session.peer().legs & host.legs()),
      settle_(settle),
      events_(events),
      set_(reactor, host, engine::Session::Role::kInitiator, session.lane(),
           {.nonces = knows_nonces(session.peer())}, *this) {
  session.set_lanes(&set_);
}

PeerLanes::Entry& PeerLanes::entry_of(const LaneKey& key) {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found != entries_.end()) return *found;
  return entries_.emplace_back(Entry{.key = key, .within = reachable(key, legs_)});
}

bool PeerLanes::trusts(Entry& entry) const {
  if (entry.distrusted && reactor_.now() - entry.since >= settle_) {
    entry.distrusted = false;
    entry.pause = kRetryMin;
    entry.last_error.clear();
  }
  return !entry.distrusted;
}

PeerLanes::Entry* PeerLanes::entry_with(uint32_t lane) {
  const auto found = std::ranges::find(entries_, lane, &Entry::number);
  return found == entries_.end() ? nullptr : &*found;
}

PeerLanes::Choice PeerLanes::choose(const LaneKey& key, size_t endpoint) {
  Entry& entry = entry_of(key);
  if (std::ranges::find(entry.endpoints, endpoint) == entry.endpoints.end()) {
    entry.endpoints.push_back(endpoint);
  }
  if (!entry.within) return {.why = Fallback::kPeerHasNone};
  if (entry.state == State::kUp) {
    if (!trusts(entry)) return {.why = Fallback::kSettling};
    return {entry.number, {}, entry.within->request, entry.within->response};
  }
  if (entry.state == State::kAbsent && reactor_.now() >= entry.retry_at) {
    entry.number = set_.open(wish_of(*entry.within));
    if (entry.number != 0) entry.state = State::kOpening;
  }
  return {.why = entry.why};
}

std::vector<LaneStatus> PeerLanes::status() {
  std::vector<LaneStatus> all;
  for (Entry& entry : entries_) {
    if (!entry.within) continue;
    const bool is_up = entry.state == State::kUp;
    const Fallback why = is_up ? Fallback::kSettling : entry.why;
    const bool carries = is_up && trusts(entry);
    all.push_back({protocol_words(*entry.within), entry.key.lanes == engine::LaneClass::kLatency,
                   carries ? "up" : name(why), entry.last_error, entry.failures});
  }
  return all;
}

// --- From the lanes ---

Result<engine::LaneShape> PeerLanes::on_lane_wanted(const engine::LaneWish&) {
  return fail(ErrorCode::kProtocol, "only this side of the link opens lanes");
}

void PeerLanes::on_lane_up(LaneSet&, uint32_t lane) {
  Entry* entry = entry_with(lane);
  if (entry == nullptr) return;
  entry->state = State::kUp;
  entry->since = reactor_.now();
  if (entry->last_error.empty()) return;
  LOG(INFO) << "RDMA lane " << protocol_words(*entry->within) << ": up again";
  if (!entry->distrusted) entry->last_error.clear();
}

void PeerLanes::on_lane_message(LaneSet&, uint32_t lane, const engine::FrameHeader& header,
                                engine::Bytes payload, engine::Leg leg) {
  events_.on_lane_frame(header, payload, {lane, leg});
}

bool PeerLanes::may_close(LaneSet&, uint32_t lane) {
  Entry* entry = entry_with(lane);
  return entry == nullptr || (trusts(*entry) && !events_.has_clients(entry->endpoints));
}

bool PeerLanes::is_orderly_end(uint32_t lane, bool was_up) {
  return end_expected_ && (!was_up || rdma(lane).due() == 0);
}

void PeerLanes::on_lane_down(LaneSet&, uint32_t lane, bool was_up, const std::string& reason) {
  Entry* entry = entry_with(lane);
  if (entry == nullptr) return;
  if (reason == LaneSet::kIdle) {
    std::erase_if(entries_, [&](const Entry& one) { return one.number == lane; });
    return;
  }
  entry->state = State::kAbsent;
  entry->number = 0;
  if (is_orderly_end(lane, was_up)) {
    VLOG(1) << "RDMA lane " << protocol_words(*entry->within)
            << ": closed, because the peer ends the link in order";
    if (was_up) events_.on_lane_lost(lane, reason);
    return;
  }
  // Logs the loss of a lane, and the first of several failures to make a lane for the same reason.
  if (was_up || entry->last_error != reason) {
    LOG(WARNING) << "RDMA lane " << protocol_words(*entry->within)
                 << (was_up ? ": down, its calls go over TCP: " : ": cannot be made: ") << reason;
  }
  entry->why = was_up ? Fallback::kDown : Fallback::kRefused;
  entry->last_error = reason;
  entry->retry_at = reactor_.now() + entry->pause;
  entry->pause = std::min(entry->pause * 2, kRetryMax);
  if (!was_up) return;
  entry->distrusted = true;
  ++entry->failures;
  events_.on_lane_lost(lane, reason);
}

}  // namespace hat
