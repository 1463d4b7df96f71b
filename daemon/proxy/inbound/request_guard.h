// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/request_guard.h: which peer may call which function at the server of a
// stream.
//
// The peer daemon says which function a request is for, and this claim chooses the hints. If
// `allow` restricts the peer, its claim is not enough. Each of its requests is held until it is
// whole, in memory that the peer cannot change. The request is passed on only if it is exactly one
// message, of a function that the peer may call, with the types that the manifest has
// (daemon/thrift/request_check.h). docs/security.md says what this does not keep out.
//
// Thread   the worker's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/node.h"
#include "daemon/proxy/unit_reader.h"
#include "daemon/thrift/request_check.h"

namespace hat {

class AcceptedLink;
class Worker;
struct Route;

class RequestGuard {
 public:
  // Guards the server `served` against the peer of `link`.
  RequestGuard(Worker& worker, const AcceptedLink& link, const ServedConfig& served)
      : worker_(worker), link_(link), served_(served) {}

  // Returns the route of a function. A service that this node does not know is taken for the one
  // that is served.
  const Route& route_of(std::string_view service, std::string_view method) const;
  // Returns true if the peer may call the function. Counts each denial, and each call that only a
  // dry run lets through.
  bool may_call(const Route& route) const;
  // Returns true if `allow` restricts the peer. The rules change only with a reload, and the names
  // that the peer's certificate proves never change.
  bool is_restricted();
  // Why a request is not passed on. `function` is "Service.method", or empty if no name is known.
  struct Fault {
    thrift::BodyFault what;
    std::string function;
  };
  // Returns the fault of a whole request, or nothing if the request may be passed on.
  std::optional<Fault> check(Bytes request) const;
  // Counts and logs the fault, and returns a description that says what to change.
  std::string refuse(const Fault& fault) const;
  // Describes the peer by a name that its certificate proves. Without one, the name in its hello is
  // only a claim.
  std::string caller() const;

 private:
  // Whether the peer is restricted at this server, by the rules of one generation of the routes.
  struct Standing {
    std::optional<uint64_t> generation;
    bool restricted = false;
  };

  // Returns the fault of a request, and sets `function` once the message's name is known.
  std::optional<thrift::BodyFault> fault_of(Bytes request, std::string& function) const;
  std::optional<thrift::BodyFault> fault_of_call(const thrift::Head& head, Bytes body,
                                                 std::string& function) const;
  std::optional<thrift::BodyFault> fault_under(const Route& route, const thrift::Head& head,
                                               Bytes body) const;

  Worker& worker_;
  const AcceptedLink& link_;
  const ServedConfig& served_;
  Standing standing_;
};

}  // namespace hat
