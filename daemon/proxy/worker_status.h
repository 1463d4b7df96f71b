// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/worker_status.h: what a worker reports of its peers, of its clients' connections,
// and of the way that a call would take now, for hatctl. worker_status.cc makes the reports.
//
// A report is a copy: it has no pointer to an object of the worker. Texts that came from the
// network are printable.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/address.h"
#include "base/reactor.h"
#include "daemon/proxy/ejections.h"
#include "daemon/proxy/outbound/peer_lanes.h"
#include "daemon/proxy/outbound/peer_speeds.h"
#include "engine/link/link.h"

namespace hat {

// A peer at which calls failed, or whose calls take much longer than those at other peers, as an
// endpoint sees it. A peer for which both is true has two objects.
struct AvoidedPeer {
  std::string peer;
  std::string endpoint;  // the address on which it listens
  std::variant<EjectionStatus, SlowStatus> why;
};

// The link of one worker to one peer, with what decides whether calls use this peer.
struct PeerStatus {
  std::string peer;     // the name in the configuration
  std::string address;  // the value of its key `link`, or the address that a name stands for
  std::string group;    // the name in the file, if the peer is one address of a DNS name; or empty
  std::string node;     // the name that the peer's daemon has sent; empty while the link is down
  std::string zone;
  uint32_t weight = 1;
  bool is_near = false;  // in the zone of this node
  engine::LinkState state = engine::LinkState::kIdle;
  Duration in_state{};        // how long the link is up, or was needed and not up; 0 if it is idle
  uint16_t link_version = 0;  // that both daemons know; 0 while the link is down
  std::vector<std::string> names;  // in the peer's certificate
  std::string last_error;          // empty while the link is up
  uint64_t sessions = 0;
  size_t streams = 0;              // client connections that use the link
  size_t unanswered = 0;           // calls
  std::optional<Duration> oldest;  // the age of the oldest one, from kWaitingAtLeast on
  uint64_t calls = 0;  // sent since the process began; a call that was sent again counts again
  std::vector<LaneStatus> lanes;
  std::vector<AvoidedPeer> avoided;
};

struct PeerList {
  size_t left_out = 0;            // peers of the configuration that are not in `shown`
  std::vector<PeerStatus> shown;  // in the order of the configuration
};

// The event for which an unanswered call waits.
enum class WaitsFor : uint8_t {
  kToBeSent,       // a link, a lane or space; or the call is sent again
  kRestOfRequest,  // the client has not sent it, or the peer has no space for it
  kReply,          // all of the request was sent
  kRestOfReply,    // the peer has not sent it, or the client does not read it
};

// Unanswered calls that have waited for kWaitingAtLeast, each the oldest one of its client's
// connection. All calls of a report have the same function and peer, and wait for the same.
struct UnansweredCalls {
  std::string service;
  std::string method;
  std::string peer;  // empty: the calls were not sent
  WaitsFor waits_for{};
  bool may_be_oneway = false;  // so that no reply may be due; see Reply::kPossible
  size_t calls = 0;
  Duration oldest{};  // the age of the oldest call, from the first byte of its request
};

// A call that has waited for less is not reported: most calls that are answered take less.
inline constexpr Duration kWaitingAtLeast = std::chrono::milliseconds(100);

struct UnansweredList {
  size_t left_out = 0;                 // reports that are not in `shown`
  std::vector<UnansweredCalls> shown;  // the report with the oldest call first
};

// The order of a list of connections.
enum class ConnectionOrder : uint8_t { kCalls, kUnanswered, kBuffered, kBytes, kAge };

// The connection of one local client.
struct ConnectionStatus {
  std::string endpoint;  // the address on which it listens
  std::string service;
  Address::Kind kind = Address::Kind::kTcp;
  // The connection's socket, for questions to the kernel; -1: none at present. It is valid only
  // until the worker's event loop continues.
  int descriptor = -1;
  std::string protocol;         // that was recognised: "framed binary", "opaque (tls)"; or empty
  std::string peer;             // of the stream; empty if there is none
  bool has_own_server = false;  // the peer keeps a connection to the server for this client alone
  std::string carrier;     // "tcp", or the protocols of the stream's RDMA lane; empty: no stream
  std::string_view waits;  // "link", "lane", "end" (the connection is ending), or empty
  Duration age{};
  uint64_t calls = 0;
  size_t unanswered = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;  // that the client's socket or ring has accepted
  size_t buffered = 0;     // bytes in this daemon, of requests and replies
};

struct ConnectionList {
  size_t open = 0;                      // connections of this worker's clients
  Duration took{};                      // processor time of the worker for the list
  std::vector<ConnectionStatus> shown;  // the first ones, in the order that was asked for
};

// The carrier of the requests of a call that would begin now.
struct CarrierNow {
  std::string protocols;       // of the lane that is up; empty: TCP
  Fallback why{};              // for TCP, if the plan wants RDMA
  std::string last_error;      // of this lane
  bool is_first_call = false;  // no lane of this kind exists, so the call would open it
};

// Whether a new connection of an endpoint's clients may get a peer.
enum class Candidacy : uint8_t {
  kNo,
  kOverflow,  // the peer is slow, and gets one if the others have no room, or as a trial
  kYes,
};

// How a call of one function that began now would reach one peer of one endpoint.
// Members  The booleans are independent facts about the peer and the plan.
struct WayToPeer {
  std::string endpoint;
  std::string peer;
  engine::LinkState state = engine::LinkState::kIdle;
  std::string last_error;  // of the link; empty while it is up
  Candidacy candidacy = Candidacy::kNo;
  bool is_avoided = false;
  std::optional<EjectionStatus> ejection;
  bool is_near = false;
  bool is_slow = false;  // its calls take much longer than other peers' (peer_speeds.h)
  uint32_t weight = 1;
  size_t unanswered = 0;
  bool learns = false;  // the learned choice decides, so `small` and `large` are not set
  // Of requests up to the plan's limit for small ones, and of larger ones. Not set if the plan's
  // path is TCP, or if the link takes no calls.
  std::optional<CarrierNow> small;
  std::optional<CarrierNow> large;
};

struct WayList {
  size_t left_out = 0;  // ways that are not in `shown`
  std::vector<WayToPeer> shown;
};

}  // namespace hat
