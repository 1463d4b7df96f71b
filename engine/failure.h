// SPDX-License-Identifier: Apache-2.0
// engine/failure.h: the reasons for which a daemon answers a Thrift call with an exception instead
// of the server's reply. The daemon of the client and the daemon of the server use the same list.
//
// A reason's token never changes, because users rely on it. The token begins the text of the
// exception ("hatrpcd: peer_unreachable: …"), is the `reason` label of the metric
// hatrpc_local_replies_total, and is listed in docs/reference.md.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hat::engine {

enum class Failure : uint8_t {
  kPeerUnreachable,
  kLinkLost,
  kUnknownService,
  kUpstreamUnreachable,
  kUpstreamClosed,
  kDeadlineExceeded,
  kTooLarge,
  kOverloaded,
  kDraining,
  kPermissionDenied,  // since link version 3; an older peer receives kUnknownService instead
  kNotOneMessage,     // an older peer treats this failure as kUpstreamClosed
};

struct FailureText {
  std::string_view token;
  std::string_view meaning;
};

inline constexpr std::array kFailureTexts = {
    FailureText{"peer_unreachable", "no link to the peer daemon; the server did not see the call"},
    FailureText{"link_lost", "the link broke during the call; the server may have seen the call"},
    FailureText{"unknown_service", "the peer daemon does not serve this service"},
    FailureText{"upstream_unreachable",
                "the server cannot be reached; the server did not see the call"},
    FailureText{"upstream_closed",
                "the server closed its connection; the server may have seen the call"},
    FailureText{"deadline_exceeded",
                "the call's deadline passed; the server may have seen the call"},
    FailureText{"too_large", "the message is larger than limits.max_message"},
    FailureText{"overloaded", "a limit of the daemon is reached; the server did not see the call"},
    FailureText{"draining", "the daemon is shutting down; the server did not see the call"},
    FailureText{
        "permission_denied",
        "the peer is not allowed to call this function; the server did not execute the call"},
    FailureText{"not_one_message",
                "the request is not one whole Thrift message; the server did not see the request"},
};
inline constexpr size_t kFailureCount = kFailureTexts.size();

// Returns true if the failure means that the peer can serve no calls at present. Peers report such
// a failure at once.
constexpr bool has_no_server(Failure failure) {
  return failure == Failure::kUpstreamUnreachable || failure == Failure::kUnknownService ||
         failure == Failure::kOverloaded || failure == Failure::kDraining;
}

// Returns true if the failure says that the server has not seen the call.
constexpr bool promises_unseen(Failure failure) {
  return failure != Failure::kLinkLost && failure != Failure::kUpstreamClosed &&
         failure != Failure::kDeadlineExceeded;
}

constexpr const FailureText& text(Failure failure) {
  return kFailureTexts[static_cast<size_t>(failure)];
}

}  // namespace hat::engine
