// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_guard.cc: which peer may call which function at the server of a
// stream.
//
// The peer daemon says which function a request is for, and this claim chooses the hints. If
// `allow` restricts the peer, its claim is not enough. Each of its requests is held until it is
// whole, in memory that the peer cannot change. The request is passed on only if it is exactly one
// message, of a function that the peer may call, with the types that the manifest has
// (daemon/thrift/request_check.h). docs/security.md says what this does not keep out.
#include <glog/logging.h>

#include <algorithm>
#include <string>

#include "config/identity.h"
#include "daemon/proxy/worker.h"
#include "daemon/thrift/envelope.h"

namespace hat {

using engine::Failure;
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

// Describes the fault, so that a reader knows what to change. `function` is "Service.method", or
// empty if no name is known yet.
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

const Route& ServerStream::route_of(std::string_view service, std::string_view method) const {
  const ServiceRoutes* routes = worker_.routes().find(service);
  if (routes == nullptr) routes = worker_.routes().find(served_.service);
  return routes->find(method);
}

// Returns true if the peer may call the function. Counts each denial, and each call that only a dry
// run lets through.
bool ServerStream::may_call(const Route& route) {
  if (!route.access) return true;
  if (any_identity_matches(route.access->allow, link_.session->peer_names())) return true;
  const bool served = route.access->dry_run;
  route.metrics->at(Side::kServer, worker_.index()).denied[served].add();
  if (served) {
    LOG_EVERY_T(WARNING, 1) << caller() << " may not call " << route.service << "." << route.method
                            << ": served anyway (allow_mode: dry_run)";
  }
  return served;
}

// Returns true if `allow` restricts the peer. The rules change only with a reload, and the names
// that the peer's certificate proves never change.
bool ServerStream::is_restricted() {
  const RoutingTable& routes = worker_.routes();
  if (standing_.generation != routes.generation()) {
    standing_ = {.generation = routes.generation(),
                 .restricted = routes.restricts(link_.session->peer_names())};
  }
  return standing_.restricted;
}

// Ends the stream if its peer is restricted now and an unchecked call waits for a connection: the
// call would be passed on unchecked.
void ServerStream::on_new_routes() {
  if (closed_ || !is_restricted()) return;
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].check == Check::kNotNeeded && calls_[i].held_bytes != 0) return end_unchecked();
  }
}

// Returns true if the connection has carried unchecked bytes and the peer is restricted now. The
// server may have half of an unchecked request, and the bytes that follow could be its rest.
bool ServerStream::began_unchecked() {
  return upstream_ && upstream_->unchecked && is_restricted();
}

void ServerStream::end_unchecked() {
  end_by_newest(Failure::kPermissionDenied,
                caller() +
                    " is restricted since `allow` has changed, and this connection has carried "
                    "requests that were not checked; the client may connect again");
}

// Checks the newest call before any of it is passed on. Returns false if it is not passed on now.
bool ServerStream::check_newest(Bytes bytes) {
  ServedCall& call = calls_.back();
  if (worker_.over_buffer_limit(*share_)) {
    refuse_over_limit(bytes);
    return false;
  }
  hold(call, bytes);
  std::string function;
  std::optional<thrift::BodyFault> found;
  if (call.check == Check::kDenied) {
    found = {RequestFault::kNotAllowed, 0};
  } else if (call.held_bytes > worker_.node().limits.checked_request_bytes_max) {
    found = {RequestFault::kTooLarge, 0};
  } else if (!call.request_complete) {
    if (granted_ahead_ < call.held_bytes) grant_ahead(call.held_bytes - granted_ahead_);
    return false;
  } else {
    found = fault_of(held_.bytes().last(call.held_bytes), function);
  }
  if (!found) {
    call.check = Check::kPassed;
    worker_.counters().checked_requests.add();
    return true;
  }
  worker_.counters().refused_requests[static_cast<size_t>(found->fault)].add();
  const std::string detail = caller() + " " + text_of(*found, function) + "; `allow` in node " +
                             worker_.node().node + "'s manifests restricts it";
  LOG_EVERY_T(WARNING, 1) << "a call of service " << served_.service << " is refused: " << detail;
  refuse_newest(Failure::kPermissionDenied, detail);
  return false;
}

// Returns the fault of a whole request, if it has one. Sets `function` once the message's name is
// known.
std::optional<thrift::BodyFault> ServerStream::fault_of(Bytes request, std::string& function) {
  thrift::MessageReader reader;
  const auto message = thrift::read_whole(reader, request);
  if (!message) return thrift::BodyFault{RequestFault::kNotOneMessage, 0};
  const thrift::Head& head = reader.head();
  if (!is_usual_head(request.first(message->envelope_bytes), head)) {
    return thrift::BodyFault{RequestFault::kUnusualHead, 0};
  }
  if (served_.thrift_transport && served_.thrift_transport != transport_of(head.framing)) {
    return thrift::BodyFault{RequestFault::kWrongTransport, 0};
  }
  if (served_.thrift_protocol && served_.thrift_protocol != protocol_of(head.encoding)) {
    return thrift::BodyFault{RequestFault::kWrongProtocol, 0};
  }
  return fault_of_call(head, request.subspan(message->envelope_bytes), function);
}

std::optional<thrift::BodyFault> ServerStream::fault_of_call(const thrift::Head& head, Bytes body,
                                                             std::string& function) {
  const size_t colon = head.name.find(':');
  const std::string_view method = thrift::bare_name(head.name);
  const bool says_service = colon != std::string_view::npos;
  const std::string_view service = says_service ? head.name.substr(0, colon) : served_.service;
  function = std::string(service) + "." + std::string(method);
  const auto& serves = worker_.node().serves;
  const auto elsewhere = std::ranges::find(serves, service, &ServedConfig::service);
  if (elsewhere != serves.end() && elsewhere->upstream != served_.upstream) {
    return thrift::BodyFault{RequestFault::kNotListed, 0};
  }
  const ServiceRoutes* routes = worker_.routes().find(service);
  // Servers differ in how they treat empty parts, and names with more than two parts.
  const bool ambiguous = method.empty() || service.empty() || method.contains(':');
  if (routes == nullptr || ambiguous) return thrift::BodyFault{RequestFault::kNotListed, 0};
  const auto fault = fault_under(routes->find(method), head, body);
  if (fault || says_service) return fault;
  // The peer has chosen the service, but the server may take a name without a service for another
  // one.
  for (const ServedConfig& other : serves) {
    if (other.upstream != served_.upstream || other.service == service) continue;
    routes = worker_.routes().find(other.service);
    if (routes == nullptr) continue;
    const Route& route = routes->find(method);
    if (!route.listed && !routes->functions().empty()) continue;
    function = other.service + "." + std::string(method);
    if (const auto found = fault_under(route, head, body)) return found;
  }
  return std::nullopt;
}

std::optional<thrift::BodyFault> ServerStream::fault_under(const Route& route,
                                                           const thrift::Head& head, Bytes body) {
  // A denial that only a dry run lets through was counted when the kCall arrived.
  if (route.access && !route.access->dry_run && !may_call(route)) {
    return thrift::BodyFault{RequestFault::kNotAllowed, 0};
  }
  if (route.arguments) {
    return check_body(head.encoding, body,
                      {*route.arguments, *route.types, route.allow_unknown_fields});
  }
  if (!worker_.routes().rules_at(served_.upstream).rules_differ) return std::nullopt;
  return thrift::BodyFault{RequestFault::kNotListed, 0};
}

// Describes the peer by a name that its certificate proves. Without one, the name in its hello is
// only a claim.
std::string ServerStream::caller() const {
  const auto names = link_.session->peer_names();
  const std::string& node = link_.session->peer().node;
  if (names.empty()) return "peer " + node + ", whose identity is not verified (link.tls),";
  return "peer " + names.front();
}

}  // namespace hat
