// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/request_guard.h"

#include <glog/logging.h>

#include <algorithm>
#include <string>

#include "config/identity.h"
#include "daemon/proxy/worker.h"
#include "daemon/thrift/envelope.h"

namespace hat {

using thrift::RequestFault;

namespace {

ThriftTransport transport_of(thrift::Framing framing) {
  if (thrift::has_header(framing)) return ThriftTransport::kHeader;
  return framing == thrift::Framing::kFramed ? ThriftTransport::kFramed
                                             : ThriftTransport::kBuffered;
}

ThriftProtocol protocol_of(thrift::Encoding encoding) {
  if (encoding == thrift::Encoding::kCompact) return ThriftProtocol::kCompact;
  return encoding == thrift::Encoding::kJson ? ThriftProtocol::kJson : ThriftProtocol::kBinary;
}

// Returns a description of the fault. `function` is "Service.method", or empty if the message's
// name is not known.
std::string text_of(const thrift::BodyFault& found, const std::string& function) {
  const std::string field =
      " field " + std::to_string(found.field) + " in the arguments of " + function;
  switch (found.fault) {
    case RequestFault::kTooLarge:
      return "sent a request larger than limits.checked_request";
    case RequestFault::kNotOneMessage:
      return "did not send exactly one whole message";
    case RequestFault::kUnusualHead:
      return "sent a message that does not begin as stock clients begin messages";
    case RequestFault::kWrongTransport:
      return "did not use the thrift_transport that is set in `serves`";
    case RequestFault::kWrongProtocol:
      return "did not use the thrift_protocol that is set in `serves`";
    case RequestFault::kNotAllowed:
      return "may not call it";
    case RequestFault::kNotListed:
      return "called " + function + ", which no manifest lists with its arguments";
    case RequestFault::kMalformed:
      return "sent bytes that cannot be decoded at" + field;
    case RequestFault::kWrongType:
      return "sent a type that differs from the manifest's at" + field;
    case RequestFault::kUnknownField:
      return "sent" + field + ", which the manifest does not have";
    case RequestFault::kMissingField:
      return "did not send the required" + field;
    case RequestFault::kBadUnion:
      return "sent a union that does not have exactly one field, at" + field;
    case RequestFault::kUnknownValue:
      return "sent a value that the manifest's enum does not have, at" + field;
    case RequestFault::kNotUtf8:
      return "sent a string that is not UTF-8 (the IDL's `binary` may be anything), at" + field;
  }
  return "";
}

}  // namespace

const Route& RequestGuard::route_of(std::string_view service, std::string_view method) const {
  const ServiceRoutes* routes = worker_.routes().find(service);
  if (routes == nullptr) routes = worker_.routes().find_retired_too(served_->config.service);
  return routes->find(method);
}

bool RequestGuard::may_call(const Route& route) const {
  if (!route.access) return true;
  if (any_identity_matches(route.access->allow, link_.peer_names())) return true;
  const bool served = route.access->dry_run;
  route.metrics->at(Side::kServer, worker_.index()).denied[served].add();
  if (served) {
    LOG_EVERY_T(WARNING, 1) << caller() << " may not call " << route.service << "." << route.method
                            << ": served anyway (allow_mode: dry_run)";
  }
  return served;
}

bool RequestGuard::is_restricted() {
  const RoutingTable& routes = worker_.routes();
  if (standing_.generation != routes.generation()) {
    standing_ = {.generation = routes.generation(),
                 .restricted = routes.restricts(link_.peer_names())};
  }
  return standing_.restricted;
}

std::optional<RequestGuard::Fault> RequestGuard::check(Bytes request) const {
  std::string function;
  const auto found = fault_of(request, function);
  if (!found) return std::nullopt;
  return Fault{*found, std::move(function)};
}

std::string RequestGuard::refuse(const Fault& fault) const {
  worker_.counters().refused_requests[static_cast<size_t>(fault.what.fault)].add();
  std::string detail = caller() + " " + text_of(fault.what, fault.function) + "; `allow` in node " +
                       worker_.node().node + "'s manifests restricts it";
  LOG_EVERY_T(WARNING, 1) << "a call of service " << served_->config.service
                          << " is refused: " << detail;
  return detail;
}

std::optional<thrift::BodyFault> RequestGuard::fault_of(Bytes request,
                                                        std::string& function) const {
  thrift::MessageReader reader;
  const auto message = thrift::read_whole(reader, request);
  if (!message) return thrift::BodyFault{RequestFault::kNotOneMessage, 0};
  const thrift::Head& head = reader.head();
  if (!is_usual_head(request.first(message->envelope_bytes), head)) {
    return thrift::BodyFault{RequestFault::kUnusualHead, 0};
  }
  if (served_->config.thrift_transport &&
      served_->config.thrift_transport != transport_of(head.framing)) {
    return thrift::BodyFault{RequestFault::kWrongTransport, 0};
  }
  if (served_->config.thrift_protocol &&
      served_->config.thrift_protocol != protocol_of(head.encoding)) {
    return thrift::BodyFault{RequestFault::kWrongProtocol, 0};
  }
  return fault_of_call(head, request.subspan(message->envelope_bytes), function);
}

std::optional<thrift::BodyFault> RequestGuard::fault_of_call(const thrift::Head& head, Bytes body,
                                                             std::string& function) const {
  const size_t colon = head.name.find(':');
  const std::string_view method = thrift::bare_name(head.name);
  const bool says_service = colon != std::string_view::npos;
  const std::string_view service =
      says_service ? head.name.substr(0, colon) : served_->config.service;
  function = std::string(service) + "." + std::string(method);
  const UpstreamRules& here = worker_.routes().rules_at(served_->config.upstream);
  const bool is_own = service == served_->config.service;
  if (!is_own && !here.has(service) && worker_.find_served(service)) {
    return thrift::BodyFault{RequestFault::kNotListed, 0};
  }
  const ServiceRoutes* routes = worker_.routes().find(service);
  // Servers differ in how they treat a name with an empty part or with more than two parts, so such
  // a name is refused.
  const bool ambiguous = method.empty() || service.empty() || method.contains(':');
  if (routes == nullptr || ambiguous) return thrift::BodyFault{RequestFault::kNotListed, 0};
  const auto fault = fault_under(routes->find(method), head, body);
  if (fault || says_service) return fault;
  // The message names no service, and the server can also serve other services that have a function
  // of this name. The request must obey the rules of all of them.
  for (const std::string& other : here.services) {
    if (other == service) continue;
    routes = worker_.routes().find(other);
    if (routes == nullptr) continue;
    const Route& route = routes->find(method);
    if (!route.listed && !routes->functions().empty()) continue;
    function = other + "." + std::string(method);
    if (const auto found = fault_under(route, head, body)) return found;
  }
  return std::nullopt;
}

std::optional<thrift::BodyFault> RequestGuard::fault_under(const Route& route,
                                                           const thrift::Head& head,
                                                           Bytes body) const {
  // Does not call may_call() for a dry run, because may_call() counts each denial, and has counted
  // this one when the kCall frame arrived.
  if (route.access && !route.access->dry_run && !may_call(route)) {
    return thrift::BodyFault{RequestFault::kNotAllowed, 0};
  }
  if (route.arguments) {
    return check_body(head.encoding, body,
                      {*route.arguments, *route.types, route.allow_unknown_fields});
  }
  // After a reload that gave the server's address to other services, `here` has only their rules.
  // Then a request of the old service, which is not checked further, could hide a call of them.
  const UpstreamRules& here = worker_.routes().rules_at(served_->config.upstream);
  if (!here.rules_differ && here.has(served_->config.service)) return std::nullopt;
  return thrift::BodyFault{RequestFault::kNotListed, 0};
}

std::string RequestGuard::caller() const {
  const auto names = link_.peer_names();
  const std::string& node = link_.peer().node;
  if (names.empty()) return "peer " + node + ", whose identity is not verified (link.tls),";
  return "peer " + names.front();
}

}  // namespace hat
