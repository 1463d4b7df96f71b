// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/peer_lanes.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

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

PeerLanes::Entry* PeerLanes::find_entry(const LaneKey& key) {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  return found == entries_.end() ? nullptr : &*found;
}

PeerLanes::Entry& PeerLanes::entry_of(const LaneKey& key) {
  Entry* found = find_entry(key);
  return found != nullptr
             ? *found
             : entries_.emplace_back(Entry{.key = key, .within = reachable(key, legs_)});
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
  if (entry.state == State::kUp) return up_choice(entry);
  open(entry);
  return {.why = entry.why};
}

PeerLanes::Choice PeerLanes::up_choice(Entry& entry) const {
  if (!trusts(entry)) return {.why = Fallback::kSettling};
  return {
      entry.number, {}, entry.within->request, entry.within->response, *entry.within == entry.key};
}

PeerLanes::Outlook PeerLanes::outlook(const LaneKey& key) const {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found == entries_.end()) {
    return {
        {.why = reachable(key, legs_) ? Fallback::kOpening : Fallback::kPeerHasNone}, false, ""};
  }
  Outlook outlook{{.why = found->why}, found->state != State::kAbsent, found->last_error};
  if (!found->within) {
    outlook.choice.why = Fallback::kPeerHasNone;
  } else if (found->state == State::kUp) {
    Entry now = *found;
    outlook.choice = up_choice(now);
  }
  return outlook;
}

std::string PeerLanes::protocols_of(uint32_t lane) const {
  const auto found = std::ranges::find(entries_, lane, &Entry::number);
  return found == entries_.end() || !found->within ? "" : protocol_words(*found->within);
}

void PeerLanes::open(Entry& entry) {
  if (entry.state != State::kAbsent || reactor_.now() < entry.retry_at) return;
  entry.number = set_.open(wish_of(*entry.within));
  if (entry.number != 0) entry.state = State::kOpening;
}

// --- Trials ---

PeerLanes::Choice PeerLanes::choose_for_trial(const LaneKey& key) {
  Entry* entry = find_entry(key);
  if (entry == nullptr || entry->state != State::kUp) return {.why = Fallback::kOpening};
  entry->reserved_until = {};  // its streams keep it open from now on
  return up_choice(*entry);
}

TrialLanes::Readiness PeerLanes::prepare(std::span<const LaneKey> keys, bool exact) {
  using Readiness = TrialLanes::Readiness;
  if (reactor_.now() < trials_from_) return Readiness::kUnable;
  for (const LaneKey& key : keys) {
    const std::optional<LaneKey> within = reachable(key, legs_);
    if (!within || (exact && *within != key)) return Readiness::kUnable;
  }
  if (!make_room(keys)) return Readiness::kOpening;
  auto all = Readiness::kUp;
  for (const LaneKey& key : keys) {
    Entry& entry = entry_of(key);
    entry.reserved_until = reactor_.now() + kReserved;
    if (entry.state == State::kUp && trusts(entry)) continue;
    const bool has_failed = entry.state == State::kUp ||
                            (entry.state == State::kAbsent && reactor_.now() < entry.retry_at);
    all = std::max(all, has_failed ? Readiness::kUnable : Readiness::kOpening);
    open(entry);
  }
  return all;
}

void PeerLanes::release(const LaneKey& key) {
  if (Entry* entry = find_entry(key)) entry->endpoints.clear();
}

// Returns true if the entry, which only trials want, can be removed now. If only the peer's
// acknowledgement of the last messages is missing, requests it.
bool PeerLanes::can_close(const Entry& entry) {
  if (entry.state == State::kOpening) return false;
  if (entry.state == State::kAbsent) return reactor_.now() >= entry.retry_at;
  engine::RdmaLane& lane = rdma(entry.number);
  if (lane.due() != 0 || events_.has_streams(entry.number)) return false;
  if (!lane.idle()) lane.settle();
  return lane.idle();
}

// Closes a lane that only trials want and whose key is not in `except`. Returns false if there is
// none that can be closed now.
bool PeerLanes::close_one_trial_lane(std::span<const LaneKey> except) {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& one) {
    return is_for_trials(one) && reactor_.now() >= one.reserved_until &&
           std::ranges::find(except, one.key) == except.end() && can_close(one);
  });
  if (found == entries_.end()) return false;
  if (found->state == State::kUp) {
    // on_lane_down() removes the entry.
    events_.on_lane_closing(found->number);
    set_.close(found->number, LaneSet::kIdle);
  } else {
    entries_.erase(found);
  }
  return true;
}

// Makes sure that, once lanes of `keys` exist too, at most kTrialLanesMost lanes are only for
// trials. Returns false if other lanes cannot be closed now.
bool PeerLanes::make_room(std::span<const LaneKey> keys) {
  const auto is_missing = [&](const LaneKey& key) { return find_entry(key) == nullptr; };
  const auto missing = std::ranges::count_if(keys, is_missing);
  while (std::ranges::count_if(entries_, &is_for_trials) + missing >
         static_cast<ptrdiff_t>(kTrialLanesMost)) {
    if (missing == 0) return true;
    if (!close_one_trial_lane(keys)) return false;
  }
  return true;
}

// Closes the lanes that only trials want and that can be closed now, and opens none for
// kTrialPause. Returns false if there were none.
bool PeerLanes::close_trial_lanes() {
  for (Entry& entry : entries_) entry.reserved_until = {};
  bool closed = false;
  while (close_one_trial_lane({})) closed = true;
  if (closed) trials_from_ = reactor_.now() + kTrialPause;
  return closed;
}

void PeerLanes::end(const std::string& reason) {
  ends_ = true;
  set_.end(reason);
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
  entry->made_room = false;
  if (entry->last_error.empty()) return;
  if (!is_for_trials(*entry)) {
    LOG(INFO) << "RDMA lane " << protocol_words(*entry->within) << ": up again";
  }
  if (!entry->distrusted) entry->last_error.clear();
}

void PeerLanes::on_lane_message(LaneSet&, uint32_t lane, const engine::FrameHeader& header,
                                engine::Bytes payload, engine::Leg leg) {
  events_.on_lane_frame(header, payload, {lane, leg});
}

bool PeerLanes::may_close(LaneSet&, uint32_t lane) {
  Entry* entry = entry_with(lane);
  if (entry == nullptr) return true;
  if (!trusts(*entry) || events_.has_streams(lane) || events_.has_clients(entry->endpoints)) {
    return false;
  }
  events_.on_lane_closing(lane);
  return true;
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
  // If only trials want the lane, no call misses it.
  if (was_up || (entry->last_error != reason && !is_for_trials(*entry))) {
    LOG(WARNING) << "RDMA lane " << protocol_words(*entry->within)
                 << (was_up ? ": down, its calls go over TCP: " : ": cannot be made: ") << reason;
  }
  const LaneKey key = entry->key;
  entry->why = was_up ? Fallback::kDown : Fallback::kRefused;
  entry->last_error = reason;
  entry->retry_at = reactor_.now() + entry->pause;
  entry->pause = std::min(entry->pause * 2, kRetryMax);
  if (!was_up) {
    if (!is_for_trials(*entry) && !entry->made_room && close_trial_lanes()) {
      if (Entry* wanted = find_entry(key)) wanted->made_room = true;  // `entry` may have moved
    }
    return;
  }
  entry->distrusted = true;
  ++entry->failures;
  if (!ends_ && !set_.domain_has_failed()) events_.on_lane_failed(key);
  events_.on_lane_lost(lane, reason);
}

}  // namespace hat
