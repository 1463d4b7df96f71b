// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/request_guard.h: decides which functions of a stream's server the peer may
// call, according to the `allow` rules.
//
// A kCall frame names the function of a request. The daemon uses this name to choose the hints. For
// a peer that `allow` rules restrict, the name is not trusted, and each request is checked. The
// daemon holds the request until all of it has arrived, in memory that the peer cannot change. It
// passes the request on to the server only if the request is exactly one message, calls a function
// that the peer may call, and has arguments of the types that the manifest lists
// (daemon/thrift/request_check.h). docs/security.md lists the attacks that this does not prevent.
//
// Thread   the worker's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/proxy/configured.h"
#include "daemon/proxy/unit_reader.h"
#include "daemon/thrift/request_check.h"

namespace hat {

class AcceptedLink;
class Worker;
struct Route;

class RequestGuard {
 public:
  // Checks requests that the peer of `link` sends to the server `served`.
  RequestGuard(Worker& worker, const AcceptedLink& link, std::shared_ptr<const Served> served)
      : worker_(worker), link_(link), served_(std::move(served)) {}
  // Checks requests to another server from now on.
  void use(std::shared_ptr<const Served> served) { served_ = std::move(served); }

  // Returns the route of a function. If no manifest has `service`, looks for the function in the
  // service that `served` names.
  const Route& route_of(std::string_view service, std::string_view method) const;
  // Returns true if the peer may call the function of `route`, or if the function's `allow` rule is
  // a dry run. Counts each call that the rule denies.
  bool may_call(const Route& route) const;
  // Returns true if an `allow` rule restricts the peer. Computes the result once for each
  // generation of the configuration.
  bool is_restricted();
  // The reason why a request is not passed on. `function` is "Service.method", or empty if the
  // message's name is not known.
  struct Fault {
    thrift::BodyFault what;
    std::string function;
  };
  // Returns the fault of a whole request, or nothing if the request may be passed on.
  std::optional<Fault> check(Bytes request) const;
  // Counts and logs the fault, and returns a description for the client.
  std::string refuse(const Fault& fault) const;
  // Returns a description of the peer: the first name in its certificate. Without a certificate,
  // returns the node name in its hello, with a remark that this name is not verified.
  std::string caller() const;

 private:
  // The result of is_restricted() for one generation of the configuration.
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
  std::shared_ptr<const Served> served_;
  Standing standing_;
};

}  // namespace hat
